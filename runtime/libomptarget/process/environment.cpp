// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/environment.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace omptool {
namespace {

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin < list.size(); begin = end + 1) {
    end = std::min(list.find(separator, begin), list.size());
    if (begin < end)
      parts.push_back(list.substr(begin, end - begin));
  }
  return parts;
}

struct Variable {
  const char* name;
  std::string value;        // as the user has set it; "": not at all
  std::string word = value; // as it is read
};

Variable own(const char* name) {
  const char* const value = ::secure_getenv(name);
  return {name, value ? value : ""};
}

// OpenMP allows white space around the values of its variables, and words in any case.
Variable openmps(const char* name) {
  constexpr const char* kBlanks = " \t\n\v\f\r";
  const char* const value = std::getenv(name);
  Variable variable{name, value ? value : ""};
  std::string& word = variable.word;
  word.erase(0, word.find_first_not_of(kBlanks));
  word.erase(word.find_last_not_of(kBlanks) + 1);
  for (char& letter : word)
    letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  return variable;
}

// say() reads the environment, which is not there yet.
void refuse(const Environment& read, const Variable& variable, const std::string& used, const std::string& known) {
  if (!read.quiet)
    std::fprintf(stderr, "omptarget: the runtime ignores %s=%s and uses %s; known values: %s\n", variable.name,
                 variable.value.c_str(), used.c_str(), known.c_str());
}

// Returns what the variable's word stands for; the first of `words` is the default.
template <typename Meaning>
Meaning choice(const Environment& read, const Variable& variable,
               std::initializer_list<std::pair<const char*, Meaning>> words) {
  std::string known;
  for (const auto& [word, meaning] : words) {
    if (variable.word == word)
      return meaning;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  const auto& [usual, meaning] = *words.begin();
  if (!variable.word.empty())
    refuse(read, variable, usual, known);
  return meaning;
}

template <typename Number>
Number number(const Environment& read, const Variable& variable, Number usual, long least, long most) {
  if (variable.word.empty())
    return usual;
  char* end = nullptr;
  const long parsed = std::strtol(variable.word.c_str(), &end, 10);
  if (*end == '\0' && parsed >= least && parsed <= most)
    return static_cast<Number>(parsed);
  refuse(read, variable, std::to_string(usual),
         "integers from " + std::to_string(least) + " to " + std::to_string(most));
  return usual;
}

} // namespace

Environment::Environment() {
  quiet = choice<bool>(*this, own("OMPTOOL_QUIET"), {{"0", false}, {"1", true}});
  policy = choice<OffloadPolicy>(*this, openmps("OMP_TARGET_OFFLOAD"),
                                 {{"DEFAULT", OffloadPolicy::kDefault},
                                  {"MANDATORY", OffloadPolicy::kMandatory},
                                  {"DISABLED", OffloadPolicy::kDisabled}});
  default_device = number(*this, openmps("OMP_DEFAULT_DEVICE"), default_device, 0, INT_MAX);
  device_policy =
      choice<DevicePolicy>(*this, own("OMPTOOL_DEVICE_POLICY"),
                           {{"openmp", DevicePolicy::kOpenMP}, {"least-loaded", DevicePolicy::kLeastLoaded}});
  in_flight = number(*this, own("OMPTOOL_HOST_IN_FLIGHT"), in_flight, 1, 4096);
  kernel_timeout = number(*this, own("OMPTOOL_KERNEL_TIMEOUT"), kernel_timeout, 0, 1'000'000);
  plugin_path = split(own("OMPTOOL_PLUGIN_PATH").value, ':');
  plugins = split(own("OMPTOOL_PLUGINS").value, ',');
}

} // namespace omptool
