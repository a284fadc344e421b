// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads environment variables. A value that cannot be used gets one line on stderr and the default. Programs that run
// with raised privileges (AT_SECURE) ignore every OMPTOOL_* variable.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace omptool {

struct Setting {
  const char* name;
  std::string value;        // as the user has set it; "": not at all
  std::string word = value; // as it is read
};

inline Setting own_setting(const char* name) {
  const char* const value = ::secure_getenv(name);
  return {name, value ? value : ""};
}

inline void refuse(const Setting& setting, const std::string& used, const std::string& known) {
  if (own_setting("OMPTOOL_QUIET").value != "1")
    std::fprintf(stderr, "omptarget: the runtime ignores %s=%s and uses %s; known values: %s\n", setting.name,
                 setting.value.c_str(), used.c_str(), known.c_str());
}

// Returns the meaning of the setting's word; the first of `words` is the default.
template <typename Meaning>
Meaning choice(const Setting& setting, std::initializer_list<std::pair<const char*, Meaning>> words) {
  std::string known;
  for (const auto& [word, meaning] : words) {
    if (setting.word == word)
      return meaning;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  const auto& [usual, meaning] = *words.begin();
  if (!setting.word.empty())
    refuse(setting, usual, known);
  return meaning;
}

// Returns the number in a setting, or nothing if the word is no number in the range.
inline std::optional<long> number_in(const Setting& setting, long least, long most) {
  char* end = nullptr;
  const long number = std::strtol(setting.word.c_str(), &end, 10);
  const bool is_one = !setting.word.empty() && *end == '\0' && least <= number && number <= most;
  return is_one ? std::optional(number) : std::nullopt;
}

// Returns the number, or `usual`.
template <typename Number> Number number_or(const Setting& setting, Number usual, long least, long most) {
  if (const std::optional<long> number = number_in(setting, least, most))
    return static_cast<Number>(*number);
  if (!setting.word.empty())
    refuse(setting, std::to_string(usual), "integers from " + std::to_string(least) + " to " + std::to_string(most));
  return usual;
}

} // namespace omptool
