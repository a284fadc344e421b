// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/environment.h"

#include "setting.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

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

// OpenMP allows white space around the values of its variables, and words in any case.
Setting openmps_setting(const char* name) {
  constexpr const char* kBlanks = " \t\n\v\f\r";
  const char* const value = std::getenv(name);
  Setting setting{name, value ? value : ""};
  std::string& word = setting.word;
  word.erase(0, word.find_first_not_of(kBlanks));
  word.erase(word.find_last_not_of(kBlanks) + 1);
  for (char& letter : word)
    letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  return setting;
}

} // namespace

Environment::Environment() {
  quiet = choice<bool>(own_setting("OMPTOOL_QUIET"), {{"0", false}, {"1", true}});
  policy = choice<OffloadPolicy>(openmps_setting("OMP_TARGET_OFFLOAD"), {{"DEFAULT", OffloadPolicy::kDefault},
                                                                         {"MANDATORY", OffloadPolicy::kMandatory},
                                                                         {"DISABLED", OffloadPolicy::kDisabled}});
  // `omptool run --mandatory` sets it: a wrapper script may set the variable of OpenMP.
  must_offload = choice<bool>(own_setting("OMPTOOL_MANDATORY"), {{"0", false}, {"1", true}});
  if (must_offload)
    policy = OffloadPolicy::kMandatory;
  default_device = number_or(openmps_setting("OMP_DEFAULT_DEVICE"), default_device, 0, INT_MAX);
  device_policy =
      choice<DevicePolicy>(own_setting("OMPTOOL_DEVICE_POLICY"),
                           {{"openmp", DevicePolicy::kOpenMP}, {"least-loaded", DevicePolicy::kLeastLoaded}});
  in_flight = number_or(own_setting("OMPTOOL_HOST_IN_FLIGHT"), in_flight, 1, 4096);
  kernel_timeout = number_or(own_setting("OMPTOOL_KERNEL_TIMEOUT"), kernel_timeout, 0, 1'000'000);
  plugin_path = split(own_setting("OMPTOOL_PLUGIN_PATH").value, ':');
  plugins = split(own_setting("OMPTOOL_PLUGINS").value, ',');
}

} // namespace omptool
