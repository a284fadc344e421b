// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/repeated_lines.h"

#include <algorithm>
#include <cstring>

namespace omptool {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef", kDigits = "0123456789", kSize = " bytes";

// Returns how many characters at the beginning of `rest`, which has some, are an address, or a number of bytes.
std::size_t length_of_object(std::string_view rest) noexcept {
  if (rest.front() < kDigits.front() || rest.front() > kDigits.back()) // most characters
    return 0;
  if (rest.starts_with("0x"))
    return std::min(rest.find_first_not_of(kHexDigits, 2), rest.size());
  const std::size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
  return rest.substr(digits).starts_with(kSize) ? digits : 0;
}

// FNV-1a of the line without addresses and numbers of bytes.
std::uint64_t hash_of(std::string_view line) noexcept {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  std::uint64_t hash = kBasis;
  for (std::size_t i = 0; i < line.size();) {
    if (const std::size_t skipped = length_of_object(line.substr(i))) {
      i += skipped;
      continue;
    }
    hash = (hash ^ static_cast<unsigned char>(line[i++])) * kPrime;
  }
  return hash == 0 ? kBasis : hash;
}

} // namespace

bool RepeatedLines::is_new(std::string_view line) noexcept {
  const std::uint64_t hash = hash_of(line);
  for (std::size_t i = 0; i < kMost; ++i) {
    Line& place = lines_[(hash + i) % kMost];
    std::uint64_t known = 0;
    if (place.hash.compare_exchange_strong(known, hash, std::memory_order_relaxed)) {
      place.text.store(::strndup(line.data(), line.size()), std::memory_order_release);
      return true;
    }
    if (known == hash) {
      place.repetitions.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  }
  return true;
}

} // namespace omptool
