// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For packager/files/lz4_block.py: the bytes that a block of LZ4 inflates to.
#include "exported.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>

namespace {

// A block of LZ4. Near its ends it answers only for what lz4's own reader takes: the last match begins 12 bytes before
// the end, and the last 5 bytes are literals.
class Block {
public:
  Block(const std::uint8_t* bytes, std::uint64_t size, std::uint8_t* out, std::uint64_t room, bool is_beginning)
      : in_(bytes), in_end_(bytes + size), begin_(out), out_(out), out_end_(out + room), is_beginning_(is_beginning) {}

  // How many bytes it wrote. Of a beginning that is all that there is room for.
  std::uint64_t inflated() {
    expect(out_ < out_end_);
    while (true) {
      copy_short_sequences();
      const unsigned token = byte();
      if (copy_literals(length(token >> 4)))
        return static_cast<std::uint64_t>(out_ - begin_);
      const std::uint64_t low = byte(), distance = low | std::uint64_t{byte()} << 8;
      expect(distance > 0 && distance <= static_cast<std::uint64_t>(out_ - begin_));
      if (copy_match(distance, length(token & kLong) + kShortestMatch))
        return static_cast<std::uint64_t>(out_ - begin_);
    }
  }

private:
  static constexpr std::uint64_t kWide = 16, kLastMatch = 12, kLastLiterals = 5, kLastInput = 8;
  static constexpr unsigned kLong = 15, kShortestMatch = 4; // a length of kLong goes on in the next bytes
  // A sequence without long lengths reads and writes at most so many bytes, in wide copies.
  static constexpr std::uint64_t kShortInput = 1 + kWide + 2 + kLastInput, kShortOutput = 2 * kWide + 2 + kLastMatch;

  std::uint64_t room() const { return static_cast<std::uint64_t>(out_end_ - out_); }
  std::uint64_t rest() const { return static_cast<std::uint64_t>(in_end_ - in_); }
  std::uint8_t byte() {
    expect(in_ < in_end_);
    return *in_++;
  }
  std::uint64_t length(std::uint64_t first) {
    for (unsigned more = first == kLong ? 255 : 0; more == 255; first += more)
      more = byte();
    return first;
  }

  // Most of a block, where no end is near: up to 14 literals, and up to 18 bytes of a match.
  void copy_short_sequences() {
    const std::uint8_t* in = in_;
    std::uint8_t* out = out_;
    while (static_cast<std::uint64_t>(in_end_ - in) >= kShortInput &&
           static_cast<std::uint64_t>(out_end_ - out) >= kShortOutput) {
      const unsigned token = *in, literals = token >> 4, match = token & kLong;
      if (literals == kLong || match == kLong)
        break;
      std::memcpy(out, in + 1, kWide);
      std::uint16_t distance;
      std::memcpy(&distance, in + 1 + literals, sizeof distance);
      std::uint8_t* const to = out + literals;
      if (distance < 8 || distance > to - begin_)
        break;
      const std::uint8_t* const from = to - distance; // 8 bytes at a time: the two may overlap
      std::memcpy(to, from, 8);
      std::memcpy(to + 8, from + 8, 8);
      std::memcpy(to + 16, from + 16, 2);
      in += 1 + literals + sizeof distance;
      out = to + match + kShortestMatch;
    }
    in_ = in;
    out_ = out;
  }

  // Returns whether that was the end.
  bool copy_literals(std::uint64_t count) {
    if (is_beginning_ && count >= room() && rest() >= room()) {
      out_ = std::copy_n(in_, room(), out_);
      return true;
    }
    expect(count <= rest() && count <= room());
    if (count <= kWide && rest() >= kWide && room() >= kWide)
      std::memcpy(out_, in_, kWide);
    else
      std::memcpy(out_, in_, count);
    out_ += count;
    in_ += count;
    if (in_ == in_end_)
      return true;
    expect(is_beginning_ || (room() >= kLastMatch && rest() >= kLastInput));
    return false;
  }

  bool copy_match(std::uint64_t distance, std::uint64_t count) {
    const bool is_end = is_beginning_ && count >= room();
    count = is_end ? room() : count;
    expect(is_end || is_beginning_ || (count <= room() && room() - count >= kLastLiterals));
    if (distance >= kWide && room() >= count + kWide) {
      const std::uint8_t* from = out_ - distance;
      for (std::uint8_t *at = out_, *const end = out_ + count; at < end; at += kWide, from += kWide)
        std::memcpy(at, from, kWide);
      out_ += count;
      return is_end;
    }
    while (count > 0) { // each turn doubles what there is to copy from
      const std::uint64_t size = std::min(count, distance);
      std::memcpy(out_, out_ - distance, size);
      out_ += size;
      count -= size;
      distance += size;
    }
    return is_end;
  }

  const std::uint8_t *in_, *in_end_;
  std::uint8_t *begin_, *out_, *out_end_;
  bool is_beginning_;
};

} // namespace

// Inflates a block of LZ4 to `out`. Returns how many bytes it wrote; -1: it is for the twin. Of a beginning it writes
// all that there is room for, and less only of a block that has no more.
OMPTOOL_EXPORTED omptool_lz4(const std::uint8_t* bytes, std::uint64_t size, std::uint8_t* out, std::uint64_t room,
                             std::int32_t is_beginning) noexcept {
  try {
    return static_cast<std::int64_t>(Block(bytes, size, out, room, is_beginning != 0).inflated());
  } catch (const std::exception&) {
    return -1;
  }
}
