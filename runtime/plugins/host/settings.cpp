// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace omptool::host {
namespace {

// Nothing where the value is no such number.
std::optional<std::int32_t> number_of(const char* value, std::int32_t least, std::int32_t most) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(value, &end, 10);
  if (errno == 0 && *end == '\0' && number >= least && number <= most)
    return static_cast<std::int32_t>(number);
  return std::nullopt;
}

// Returns whether the value of the variable `name` is `word` rather than `other`, which is the default.
bool is_word(const char* name, const char* value, const char* word, const char* other) {
  const bool wanted = value && !std::strcmp(value, word);
  if (value && *value && !wanted && std::strcmp(value, other))
    std::fprintf(stderr, "omptarget: the runtime ignores %s=%s and uses %s; known values: %s, %s\n", name, value, other,
                 other, word);
  return wanted;
}

} // namespace

std::int32_t device_count() {
  static const std::int32_t count = [] {
    constexpr std::int32_t kMost = 256;
    const char* const value = ::secure_getenv("OMPTOOL_HOST_DEVICES");
    if (!value || !*value)
      return 1;
    const std::optional<std::int32_t> number = number_of(value, 0, kMost);
    if (!number)
      std::fprintf(stderr,
                   "omptarget: the runtime ignores OMPTOOL_HOST_DEVICES=%s and uses 1; known values: "
                   "integers from 0 to %d\n",
                   value, kMost);
    return number.value_or(1);
  }();
  return count;
}

bool memory_is_shared() {
  static const bool shared =
      is_word("OMPTOOL_HOST_MEMORY", ::secure_getenv("OMPTOOL_HOST_MEMORY"), "shared", "separate");
  return shared;
}

bool queues_are_wanted() {
  static const bool wanted = is_word("OMPTOOL_HOST_QUEUES", ::secure_getenv("OMPTOOL_HOST_QUEUES"), "1", "0");
  return wanted;
}

// The core reads it, too, and says what is wrong with it.
unsigned most_in_flight() {
  constexpr std::int32_t kMost = 4096, kUsual = 64;
  const char* const value = ::secure_getenv("OMPTOOL_HOST_IN_FLIGHT");
  return static_cast<unsigned>(value ? number_of(value, 1, kMost).value_or(kUsual) : kUsual);
}

} // namespace omptool::host
