// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/environment.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <strings.h>

namespace omptool {
namespace {

// say() reads the environment, which is not there yet.
void refuse(const Environment& read, const char* name, const char* value, const char* used, const char* known) {
  if (!read.quiet)
    std::fprintf(stderr, "omptarget: the runtime ignores %s=%s and uses %s; known values: %s\n", name, value, used,
                 known);
}

std::string integers(long least, long most) {
  return "integers from " + std::to_string(least) + " to " + std::to_string(most);
}

std::vector<std::string> split(const char* list, char separator) {
  std::vector<std::string> parts;
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    if (end > 0)
      parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

// Without the white space around it, which OpenMP allows in the values of its variables.
std::string trimmed(const char* value) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::string_view all = value ? value : "";
  const std::size_t first = all.find_first_not_of(kBlanks);
  return first == all.npos ? std::string() : std::string(all.substr(first, all.find_last_not_of(kBlanks) - first + 1));
}

OffloadPolicy read_policy(const Environment& read) {
  const char* value = std::getenv("OMP_TARGET_OFFLOAD");
  const std::string word = trimmed(value);
  if (word.empty() || !::strcasecmp(word.c_str(), "default"))
    return OffloadPolicy::kDefault;
  if (!::strcasecmp(word.c_str(), "disabled"))
    return OffloadPolicy::kDisabled;
  if (!::strcasecmp(word.c_str(), "mandatory"))
    return OffloadPolicy::kMandatory;
  refuse(read, "OMP_TARGET_OFFLOAD", value, "DEFAULT", "DEFAULT, MANDATORY, DISABLED");
  return OffloadPolicy::kDefault;
}

int read_default_device(const Environment& read) {
  const char* value = std::getenv("OMP_DEFAULT_DEVICE");
  const std::string word = trimmed(value);
  if (word.empty())
    return 0;
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(word.c_str(), &end, 10);
  if (errno == 0 && *end == '\0' && number >= 0 && number <= INT_MAX)
    return static_cast<int>(number);
  refuse(read, "OMP_DEFAULT_DEVICE", value, "0", integers(0, INT_MAX).c_str());
  return 0;
}

DevicePolicy read_device_policy(const Environment& read) {
  const char* value = ::secure_getenv("OMPTOOL_DEVICE_POLICY");
  if (value && !std::strcmp(value, "least-loaded"))
    return DevicePolicy::kLeastLoaded;
  if (value && *value && std::strcmp(value, "openmp"))
    refuse(read, "OMPTOOL_DEVICE_POLICY", value, "openmp", "openmp, least-loaded");
  return DevicePolicy::kOpenMP;
}

unsigned read_count(const Environment& read, const char* name, const char* value, unsigned usual, long least,
                    long most) {
  if (!value || !*value)
    return usual;
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  if (*end == '\0' && number >= least && number <= most)
    return static_cast<unsigned>(number);
  refuse(read, name, value, std::to_string(usual).c_str(), integers(least, most).c_str());
  return usual;
}

Environment read_environment() {
  Environment read;
  const char* quiet = ::secure_getenv("OMPTOOL_QUIET");
  read.quiet = quiet && !std::strcmp(quiet, "1");
  if (quiet && *quiet && !read.quiet && std::strcmp(quiet, "0"))
    refuse(read, "OMPTOOL_QUIET", quiet, "0", "0, 1");
  read.policy = read_policy(read);
  read.default_device = read_default_device(read);
  read.device_policy = read_device_policy(read);
  read.in_flight =
      read_count(read, "OMPTOOL_HOST_IN_FLIGHT", ::secure_getenv("OMPTOOL_HOST_IN_FLIGHT"), read.in_flight, 1, 4096);
  read.kernel_timeout =
      read_count(read, "OMPTOOL_KERNEL_TIMEOUT", ::secure_getenv("OMPTOOL_KERNEL_TIMEOUT"), 0, 0, 1'000'000);
  read.plugin_path = split(::secure_getenv("OMPTOOL_PLUGIN_PATH"), ':');
  read.plugins = split(::secure_getenv("OMPTOOL_PLUGINS"), ',');
  return read;
}

} // namespace

constinit std::atomic<const Environment*> known_environment{nullptr};

const Environment& find_environment() noexcept {
  // Never destroyed: other threads may still offload while the process exits. Without the lock of a
  // static's initialisation: a child of fork() would wait forever for the thread of its parent that
  // held it. Of threads that read at the same time, the first to finish counts.
  std::atomic<const Environment*>& known = known_environment;
  const Environment* only = known.load(std::memory_order_acquire);
  if (only)
    return *only;
  const auto* const mine = new Environment(read_environment());
  if (known.compare_exchange_strong(only, mine, std::memory_order_acq_rel, std::memory_order_acquire))
    return *mine;
  delete mine;
  return *only;
}

} // namespace omptool
