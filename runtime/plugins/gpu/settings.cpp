// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace omptool::gpu {
namespace {

std::optional<std::uint64_t> number_in(const char* name) {
  const char* const value = ::secure_getenv(name);
  if (!value || *value < '0' || *value > '9')
    return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(value, &end, 0);
  return errno == 0 && *end == '\0' ? std::optional<std::uint64_t>(number) : std::nullopt;
}

ClangSettings read_clang_settings() {
  ClangSettings settings;
  if (const std::optional<std::uint64_t> teams = number_in("OMP_NUM_TEAMS"); teams && *teams > 0)
    settings.teams = *teams;
  if (const std::optional<std::uint64_t> most = number_in("OMP_TEAM_LIMIT"); most && *most > 0)
    settings.teams = std::min(settings.teams, *most);
  if (const std::optional<std::uint64_t> least = number_in("LIBOMPTARGET_MIN_THREADS_FOR_LOW_TRIP_COUNT");
      least && *least > 0)
    settings.least_threads = *least;
  if (const char* const reuse = ::secure_getenv("LIBOMPTARGET_REUSE_BLOCKS_FOR_HIGH_TRIP_COUNT"))
    settings.reuses_teams = std::strcmp(reuse, "0") != 0 && ::strcasecmp(reuse, "false") != 0;
  settings.memory = number_in("LIBOMPTARGET_SHARED_MEMORY_SIZE").value_or(0);
  return settings;
}

} // namespace

const ClangSettings& clang_settings() {
  static const ClangSettings settings = read_clang_settings();
  return settings;
}

std::uint32_t debug_kind() {
  static const auto kind = static_cast<std::uint32_t>(number_in("LIBOMPTARGET_DEVICE_RTL_DEBUG").value_or(0));
  return kind;
}

std::optional<std::uint64_t> stack_of_threads() {
  return number_in("LIBOMPTARGET_STACK_SIZE");
}

std::optional<std::uint64_t> heap_of_kernels() {
  return number_in("LIBOMPTARGET_HEAP_SIZE");
}

} // namespace omptool::gpu
