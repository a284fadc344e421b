// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitcode.h"

#include <algorithm>

namespace omptool::compile {
namespace {

constexpr std::uint32_t kMagic = 0xDEC04342, kWrapperMagic = 0x0B17C0DE;

struct Wrapper {
  std::uint32_t magic, version, offset, size;
};

// Begins of bitstream records (LLVM Bitcode File Format, "Bitstream Format" and "MODULE_BLOCK Contents").
enum Begins : std::uint64_t { kEndBlock, kEnterBlock, kDefineAbbreviation, kUnabbreviated };
constexpr std::uint64_t kModuleBlock = 8, kTripleRecord = 2, kMostLetters = 256;

// Bits from the lowest of the first byte on. Past its end, every bit is 0, and it has failed.
class Bits {
public:
  explicit Bits(Bytes bytes) : bytes_(bytes) {}

  std::uint64_t fixed(unsigned width) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i, ++at_)
      if (at_ / 8 < bytes_.size())
        value |= (std::to_integer<std::uint64_t>(bytes_[at_ / 8]) >> (at_ % 8) & 1) << i;
      else
        failed_ = true;
    return value;
  }

  // Reads groups of `width` bits. The highest bit of a group shows whether another group follows.
  std::uint64_t variable(unsigned width) {
    const std::uint64_t more = std::uint64_t{1} << (width - 1);
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += width - 1) {
      const std::uint64_t group = fixed(width);
      value |= (group & (more - 1)) << shift;
      if (!(group & more))
        return value;
    }
    failed_ = true;
    return 0;
  }

  void align() { at_ = (at_ + 31) / 32 * 32; }
  void skip_words(std::uint64_t words) { at_ += words * 32; } // of a number of 32 bits
  bool failed() const { return failed_ || at_ / 8 > bytes_.size(); }

private:
  Bytes bytes_;
  std::uint64_t at_ = 0;
  bool failed_ = false;
};

struct Block {
  std::uint64_t number;
  unsigned width;
  std::uint64_t words;
};

Block enter_block(Bits& bits) {
  const std::uint64_t number = bits.variable(8);
  const auto width = static_cast<unsigned>(bits.variable(4));
  bits.align();
  return {number, width, bits.fixed(32)};
}

// Returns the triple from an unabbreviated record, if the record is one of a triple.
std::string triple_in_record(Bits& bits) {
  const std::uint64_t code = bits.variable(6), count = bits.variable(6);
  std::string letters;
  for (std::uint64_t i = 0; i < count && !bits.failed(); ++i) {
    const char letter = static_cast<char>(bits.variable(6));
    if (code == kTripleRecord && i < kMostLetters)
      letters += letter;
  }
  return letters;
}

// LLVM writes the triple without an abbreviation, and before the module's first abbreviation.
std::string triple_in_module(Bits& bits, unsigned width) {
  while (!bits.failed()) {
    const std::uint64_t begins = bits.fixed(width);
    if (begins == kEnterBlock)
      bits.skip_words(enter_block(bits).words);
    else if (begins != kUnabbreviated)
      return {};
    else if (const std::string triple = triple_in_record(bits); !triple.empty())
      return bits.failed() ? std::string() : triple;
  }
  return {};
}

} // namespace

bool is_bitcode(Bytes image) {
  const std::uint32_t magic = read<std::uint32_t>(image, 0).value_or(0);
  return magic == kMagic || magic == kWrapperMagic;
}

std::string triple_of(Bytes image) {
  if (const std::optional<Wrapper> wrapper = read<Wrapper>(image, 0); wrapper && wrapper->magic == kWrapperMagic) {
    if (wrapper->offset > image.size() || wrapper->size > image.size() - wrapper->offset)
      return {};
    image = image.subspan(wrapper->offset, wrapper->size);
  }
  if (read<std::uint32_t>(image, 0) != kMagic)
    return {};
  Bits bits(image);
  bits.fixed(32);
  constexpr unsigned kTopWidth = 2;
  while (!bits.failed() && bits.fixed(kTopWidth) == kEnterBlock) {
    const Block block = enter_block(bits);
    if (block.number == kModuleBlock && block.width >= 2 && block.width <= 32)
      return triple_in_module(bits, block.width);
    bits.skip_words(block.words);
  }
  return {};
}

} // namespace omptool::compile
