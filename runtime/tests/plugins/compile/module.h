// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module of bitcode as LLVM begins one: what comes before the triple, the triple, and nothing else.
#pragma once

#include "bytes.h"

#include <string_view>
#include <vector>

// Writes bits, from the lowest of each byte on (the LLVM Bitcode File Format).
class BitWriter {
public:
  void fixed(std::uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i, ++at_) {
      if (at_ % 8 == 0)
        bytes_.push_back(std::byte{0});
      bytes_.back() |= static_cast<std::byte>((value >> i & 1) << (at_ % 8));
    }
  }
  void variable(std::uint64_t value, unsigned width) {
    const unsigned carried = width - 1;
    for (; value >> carried; value >>= carried)
      fixed((value & ((std::uint64_t{1} << carried) - 1)) | std::uint64_t{1} << carried, width);
    fixed(value, width);
  }
  void align() {
    while (at_ % 32)
      fixed(0, 1);
  }
  void record(unsigned width, std::uint64_t code, std::string_view letters) {
    fixed(3, width);
    variable(code, 6);
    variable(letters.size(), 6);
    for (const char letter : letters)
      variable(static_cast<unsigned char>(letter), 6);
  }
  void block(unsigned outer, std::uint64_t number, unsigned width, BitWriter inside) {
    inside.fixed(0, width);
    inside.align();
    fixed(1, outer);
    variable(number, 8);
    variable(width, 4);
    align();
    fixed(inside.bytes_.size() / 4, 32);
    bytes_.insert(bytes_.end(), inside.bytes_.begin(), inside.bytes_.end());
    at_ += inside.bytes_.size() * 8;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

inline std::vector<std::byte> module_for(std::string_view triple) {
  constexpr unsigned kTop = 2, kWidth = 3, kVersion = 1, kTriple = 2;
  BitWriter types, module, whole;
  types.record(4, 7, "0123456789abcdef");
  module.record(kWidth, kVersion, "\2");
  module.block(kWidth, 17, 4, types);
  module.record(kWidth, kTriple, triple);
  whole.fixed(0xDEC04342, 32);
  whole.block(kTop, 13, 5, {});
  whole.block(kTop, 8, kWidth, module);
  return whole.bytes();
}
