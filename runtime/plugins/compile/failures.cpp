// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "failures.h"

#include "sha256.h"

#include <array>
#include <cstring>
#include <sys/stat.h>

namespace omptool::compile {
namespace {

std::string key_of_failure(const std::string& key, const std::string& helper) {
  struct stat status{};
  ::stat(helper.c_str(), &status);
  const std::array<std::int64_t, 3> version{status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  Sha256 hash;
  hash.add("failure of " + key + " by " + helper);
  hash.add(std::as_bytes(std::span(version)));
  return in_hexadecimal(hash.finish());
}

} // namespace

Failures::Failures(const Cache& cache, const std::string& key, const std::string& helper, std::time_t now)
    : cache_(cache), key_(key_of_failure(key, helper)), now_(now) {}

// Reads the time from the file's content, because the file's own time is that of its last use.
std::string Failures::find() const {
  const std::optional<std::vector<std::byte>> kept = cache_.find(key_);
  const std::optional<std::time_t> when = kept ? omptool::read<std::time_t>(*kept, 0) : std::nullopt;
  const std::time_t age = when ? now_ - *when : -1;
  if (age < 0 || age >= kLifetime.count()) // below 0: the clock was set back
    return {};
  return std::string(reinterpret_cast<const char*>(kept->data()) + sizeof *when, kept->size() - sizeof *when) +
         " (omptool lower said so " + std::to_string(age) + " s ago; it is asked again " +
         std::to_string(kLifetime.count() - age) + " s from now)";
}

std::string Failures::store(const std::string& reason) const {
  std::vector<std::byte> kept(sizeof now_ + reason.size());
  std::memcpy(kept.data(), &now_, sizeof now_);
  std::memcpy(kept.data() + sizeof now_, reason.data(), reason.size());
  return cache_.store(key_, kept);
}

} // namespace omptool::compile
