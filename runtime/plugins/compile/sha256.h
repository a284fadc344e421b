// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4): what names an image in the cache, and shows that it is whole.
#pragma once

#include "bytes.h"

#include <array>
#include <string>
#include <string_view>

namespace omptool::compile {

class Sha256 {
public:
  using Digest = std::array<std::byte, 32>;

  void add(Bytes bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  Digest finish(); // once, at the end

private:
  void take_block(const std::byte* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> kept_{}; // of a block that is not full
  std::uint64_t length_ = 0;         // bytes
};

std::string in_hexadecimal(const Sha256::Digest& digest);

} // namespace omptool::compile
