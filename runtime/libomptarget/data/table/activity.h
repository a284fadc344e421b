// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts what has happened on a device, so that most launches change nothing that other threads look at. The count's
// last two bits are its phase (Activity::Phase).
//
// A launch notes itself here and then asks whether a copy on the host is newer (PresentTable::any_host_current()). A
// fallback says so of an object and then asks here whether nothing has been noted since its birth. All four have
// seq_cst, so that one of the two sees the other: what a kernel writes is never taken for what nobody has written.
// Somebody has noted since every birth that a launch knows of, if its note() only loads. A fallback sees that note, or
// is seen by who comes after it.
#pragma once

#include <atomic>
#include <cstdint>

namespace omptool {

class Activity {
public:
  // The device may have written to its memory: a kernel or a copy by address. Returns what take_back() needs.
  std::uint64_t note() {
    std::uint64_t now = count_.load(std::memory_order_seq_cst);
    while (phase(now) != kHappened) {
      const std::uint64_t noted = phase(now) == kCreated ? now + 1 : now + 2;
      if (count_.compare_exchange_weak(now, noted, std::memory_order_seq_cst))
        return noted;
    }
    return now;
  }
  // The device has not written, after all: the kernel was not started. Stays noted where others have relied on it.
  void take_back(std::uint64_t noted) {
    if (phase(noted) == kOnce)
      count_.compare_exchange_strong(noted, noted - 1, std::memory_order_relaxed);
  }
  // Returns the time of birth of an object: what happens after it counts as later. Launches find the object under a
  // lock, and so load this value or a later one.
  std::uint64_t birth() {
    std::uint64_t now = count_.load(std::memory_order_relaxed);
    std::uint64_t born = now;
    do
      born = phase(now) == kHappened ? now + 1 : phase(now) == kOnce ? now + 3 : now;
    while (born != now && !count_.compare_exchange_weak(now, born, std::memory_order_relaxed));
    return born;
  }
  bool none_since(std::uint64_t born) const { return born == count_.load(std::memory_order_seq_cst); }

private:
  //              note()             birth()          take_back()
  // kHappened    –                  kCreated         –
  // kCreated     kOnce              –                –
  // kOnce        kHappened, later   kCreated, later  kCreated
  enum Phase : std::uint64_t {
    kHappened = 0, // no object has been created since something happened, if anything has
    kCreated = 1,  // objects have been created since
    kOnce = 2,     // and then one thing has happened, which may be taken back
  };
  static constexpr Phase phase(std::uint64_t count) { return static_cast<Phase>(count % 4); }

  std::atomic<std::uint64_t> count_{0};
};

} // namespace omptool
