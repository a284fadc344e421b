// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace omptool::check {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

// Several sums, so that the processor has as many multiplications under way.
using Sums = std::array<std::uint64_t, 8>;

// Returns a mixed value: a bijection in each argument.
std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  return std::rotl((sum ^ word) * kOdd, 29);
}

void add(Sums& sums, const std::byte* bytes) {
  Sums words;
  std::memcpy(words.data(), bytes, sizeof words);
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = mixed(sums[i], words[i]);
}

} // namespace

std::uint64_t digest_of(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(bytes);
  Sums sums{size, 1, 2, 3, 4, 5, 6, 7};
  std::size_t left = size;
  for (; left >= sizeof sums; left -= sizeof sums, at += sizeof sums)
    add(sums, at);
  std::array<std::byte, sizeof sums> rest{};
  std::copy_n(at, left, rest.begin());
  add(sums, rest.data());
  std::uint64_t all = 0;
  for (const std::uint64_t sum : sums)
    all = mixed(all, sum);
  return all;
}

} // namespace omptool::check
