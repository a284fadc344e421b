// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For packager/formats/compressed/lz4_block.py: the bytes that a block of LZ4 inflates to.
#include "exported.h"
#include "image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>

namespace {

// Block of LZ4. Near its end it accepts only what lz4's own reader accepts: the last match begins 12 bytes before the
// end, and the last 5 bytes are literals.
class Block {
public:
  Block(const std::uint8_t* bytes, std::uint64_t stored, Image<std::uint8_t> image, bool is_beginning)
      : in_(bytes), in_end_(bytes + stored), image_(image), out_(image.begin),
        out_end_(image.is_whole() ? image.begin + image.size : image.tail_begin()),
        later_(image.size - static_cast<std::uint64_t>(out_end_ - out_)), is_beginning_(is_beginning) {
    expect(out_ < out_end_ && (image.is_whole() || (!is_beginning && image.room >= kSmallestRoom)));
  }

  // Returns the number of bytes written; for a beginning that is all that there is room for.
  std::uint64_t inflated() {
    while (true) {
      copy_short_sequences();
      const unsigned token = byte();
      if (copy_literals(length(token >> 4)))
        break;
      const std::uint64_t low = byte(), distance = low | std::uint64_t{byte()} << 8;
      expect(distance > 0 && distance <= static_cast<std::uint64_t>(out_ - image_.begin));
      if (copy_match(distance, length(token & kLong) + kShortestMatch))
        break;
    }
    keep_tail();
    return image_.size - room();
  }

private:
  static constexpr std::uint64_t kWide = 16, kLastMatch = 12, kLastLiterals = 5, kLastInput = 8;
  static constexpr std::uint64_t kFarthest = 1 << 16, kSmallestRoom = 16 * kFarthest; // matches begin closer than that
  static constexpr unsigned kLong = 15, kShortestMatch = 4; // a length of kLong goes on in the next bytes
  // Short-sequence limits: a sequence without long lengths reads and writes at most so many bytes, in wide copies.
  static constexpr std::uint64_t kShortInput = 1 + kWide + 2 + kLastInput, kShortOutput = 2 * kWide + 2 + kLastMatch;

  std::uint64_t room() const { return static_cast<std::uint64_t>(out_end_ - out_) + later_; }
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

  // Returns how many bytes can be written at `out_` now: at least one where the image goes on.
  std::uint64_t writable() {
    if (out_ == out_end_ && later_ > 0)
      slide();
    return static_cast<std::uint64_t>(out_end_ - out_);
  }

  // Leaves the bytes behind the head to those that follow, but for those that matches may copy.
  void slide() {
    keep_tail();
    std::uint8_t* const first = image_.begin + image_.head();
    std::memmove(first, out_ - kFarthest, kFarthest);
    out_ = first + kFarthest;
    const std::uint64_t next = std::min(later_, static_cast<std::uint64_t>(image_.tail_begin() - out_));
    out_end_ = out_ + next;
    later_ -= next;
  }

  // Copies the bytes that are of the image's tail to their place.
  void keep_tail() {
    const std::uint64_t at = image_.size - room(), tail = image_.size - image_.tail();
    if (image_.is_whole() || at <= tail)
      return;
    const std::uint64_t passing = static_cast<std::uint64_t>(out_ - image_.begin) - image_.head();
    const std::uint64_t count = std::min(at - tail, passing);
    std::memcpy(image_.tail_begin() + (at - tail - count), out_ - count, count);
  }

  // Copies short sequences, which are most of a block, while no end is near: up to 14 literals, and up to 18 bytes of a
  // match.
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
      if (distance < 8 || distance > to - image_.begin)
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
    if (count <= kWide && rest() >= kWide && writable() >= kWide) {
      std::memcpy(out_, in_, kWide);
      out_ += count;
      in_ += count;
    } else {
      while (count > 0) {
        const std::uint64_t size = std::min(count, writable());
        out_ = std::copy_n(in_, size, out_);
        in_ += size;
        count -= size;
      }
    }
    if (in_ == in_end_)
      return true;
    expect(is_beginning_ || (room() >= kLastMatch && rest() >= kLastInput));
    return false;
  }

  // Returns whether that was the end.
  bool copy_match(std::uint64_t distance, std::uint64_t count) {
    const bool is_end = is_beginning_ && count >= room();
    count = is_end ? room() : count;
    expect(is_end || is_beginning_ || (count <= room() && room() - count >= kLastLiterals));
    while (count > 0) {
      const std::uint64_t size = std::min(count, writable());
      copy_from(distance, size);
      count -= size;
    }
    return is_end;
  }

  // Copies bytes to which there is room without sliding.
  void copy_from(std::uint64_t distance, std::uint64_t count) {
    if (distance >= kWide && static_cast<std::uint64_t>(out_end_ - out_) >= count + kWide) {
      const std::uint8_t* from = out_ - distance;
      for (std::uint8_t *at = out_, *const end = out_ + count; at < end; at += kWide, from += kWide)
        std::memcpy(at, from, kWide);
      out_ += count;
      return;
    }
    while (count > 0) { // each turn doubles what there is to copy from
      const std::uint64_t size = std::min(count, distance);
      std::memcpy(out_, out_ - distance, size);
      out_ += size;
      count -= size;
      distance += size;
    }
  }

  const std::uint8_t *in_, *in_end_;
  Image<std::uint8_t> image_;
  std::uint8_t *out_, *out_end_;
  std::uint64_t later_; // bytes that are to follow those for which there is room now
  bool is_beginning_;
};

} // namespace

// Inflates a block of LZ4 to an image of `size` bytes, in `room` bytes at `out`: to the whole image, or to both ends of
// a larger one. Returns the number of bytes of the image, or -1 for the Python twin. Fills the room with the image's
// start, and less only if the block has no more.
OMPTOOL_EXPORTED omptool_lz4_image(const std::uint8_t* bytes, std::uint64_t stored, std::uint8_t* out,
                                   std::uint64_t room, std::uint64_t size, std::int32_t is_beginning) noexcept {
  try {
    return static_cast<std::int64_t>(Block(bytes, stored, {out, room, size}, is_beginning != 0).inflated());
  } catch (const std::exception&) {
    return -1;
  }
}
