// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/check/full/digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace omptool::check {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

// One to one in each of the two.
std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  return std::rotl((sum ^ word) * kOdd, 29);
}

} // namespace

// Four sums, so that the processor has four multiplications under way.
std::uint64_t digest_of(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(bytes);
  std::array<std::uint64_t, 4> sums{size, 1, 2, 3};
  for (std::size_t left = size; left > 0;) {
    std::array<std::uint64_t, 4> words{};
    const std::size_t taken = std::min(left, sizeof words);
    std::memcpy(words.data(), at, taken);
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = mixed(sums[i], words[i]);
    at += taken;
    left -= taken;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t sum : sums)
    all = mixed(all, sum);
  return all;
}

} // namespace omptool::check
