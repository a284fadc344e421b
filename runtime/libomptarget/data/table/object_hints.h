// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints to the objects that begin at an address, which is how most calls name them. A hint may be missing or out of
// date: who follows it looks at the object's range by the object's lock. Any thread finds; who adds or erases holds the
// table's lock.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace omptool {

class Object;

class ObjectHints {
public:
  ObjectHints() { enlarge(kFirstLines); }

  Object* find(std::uintptr_t begin) const {
    for (const Hint& hint : now_.load(std::memory_order_acquire)->line_of(begin).hints)
      if (hint.begin.load(std::memory_order_acquire) == begin)
        return hint.object.load(std::memory_order_acquire);
    return nullptr;
  }
  void add(std::uintptr_t begin, Object& object) {
    if (2 * ++objects_ > kHints * now_.load(std::memory_order_relaxed)->size())
      enlarge(2 * now_.load(std::memory_order_relaxed)->size());
    put(*now_.load(std::memory_order_relaxed), begin, &object);
  }
  void erase(std::uintptr_t begin, const Object& object) {
    --objects_;
    for (Hint& hint : now_.load(std::memory_order_relaxed)->line_of(begin).hints)
      if (hint.object.load(std::memory_order_relaxed) == &object)
        hint.begin.store(0, std::memory_order_relaxed);
  }

private:
  static constexpr std::size_t kHints = 4, kFirstLines = 256; // a line of hints is a cache line
  struct Hint {
    std::atomic<std::uintptr_t> begin{0}; // 0: there is none
    std::atomic<Object*> object{nullptr};
  };
  struct alignas(64) Line {
    std::array<Hint, kHints> hints;
  };
  class Lines {
  public:
    explicit Lines(std::size_t size) : shift_(64 - static_cast<int>(std::bit_width(size - 1))), lines_(size) {}
    std::size_t size() const { return lines_.size(); }
    Line& line_of(std::uintptr_t begin) { return lines_[place_of(begin)]; }
    const Line& line_of(std::uintptr_t begin) const { return lines_[place_of(begin)]; }
    const std::vector<Line>& all() const { return lines_; }

  private:
    // Fibonacci hashing (Knuth, volume 3, 6.4). Objects in even steps come in groups by that alone, and up to half of
    // them lose their hints; by the exclusive or, one of 30 does.
    std::size_t place_of(std::uintptr_t begin) const {
      return static_cast<std::size_t>(((begin ^ (begin >> 15)) * 0x9e3779b97f4a7c15ULL) >> shift_);
    }
    int shift_;
    std::vector<Line> lines_;
  };

  static void put(Lines& lines, std::uintptr_t begin, Object* object) {
    Line& line = lines.line_of(begin);
    Hint* free = &line.hints.front(); // another object loses its hint where none is
    for (Hint& hint : line.hints)
      if (hint.begin.load(std::memory_order_relaxed) == 0) {
        free = &hint;
        break;
      }
    free->begin.store(0, std::memory_order_relaxed);
    free->object.store(object, std::memory_order_release);
    free->begin.store(begin, std::memory_order_release);
  }
  // The old lines stay: somebody may be looking at them.
  void enlarge(std::size_t size) {
    auto larger = std::make_unique<Lines>(size);
    if (const Lines* const old = now_.load(std::memory_order_relaxed))
      for (const Line& line : old->all())
        for (const Hint& hint : line.hints)
          if (const std::uintptr_t begin = hint.begin.load(std::memory_order_relaxed))
            put(*larger, begin, hint.object.load(std::memory_order_relaxed));
    now_.store(larger.get(), std::memory_order_release);
    all_.push_back(std::move(larger));
  }

  std::atomic<Lines*> now_{nullptr};
  std::vector<std::unique_ptr<Lines>> all_;
  std::size_t objects_ = 0;
};

} // namespace omptool
