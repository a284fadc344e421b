// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watches a few words of host memory: whether the host reads a result that was dropped, and whether it uses memory of
// an unfinished construct. The processor's debug registers do that, through perf_event_open(). No page is closed to
// access, so system calls and all other users of the memory work as before. A processor has four registers, so one word
// stands for its object, and only the latest objects are watched.
#pragma once

#include "check/findings.h"
#include "check/full/running.h"

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace omptool::check {

// Word of an object: 1, 2, 4 or 8 bytes, aligned to its size.
struct Word {
  std::uintptr_t address;
  std::size_t size;
};
// Returns the largest word that contains the byte at `offset` and lies in the object.
Word word_at(const void* object, std::size_t size, std::size_t offset);

// Watches for reads: records the finding if the host reads the word before it writes to it, on any thread.
void watch_reads(Word word, const Finding& finding);
// Use to watch for: records the finding if another thread writes to the word, or uses it at all, before
// unwatch(construct).
enum class Use { kWrite, kAny };
void watch_use(Word word, Use use, std::uint64_t construct, const Finding& finding);
// Names the kernel that the construct launches.
void name_kernel(const observe::Operation& launch);
void unwatch(std::uint64_t construct);
// Unwatches bytes that the runtime is about to use for the program: a later read finds no dropped result there.
void unwatch(const void* host, std::size_t size);

// Takes a trap, in the handler of SIGTRAP. Returns whether a watch caused it.
bool take_trap(const siginfo_t& info, const Frame& frame);

} // namespace omptool::check
