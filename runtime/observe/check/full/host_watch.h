// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watches a few words of the host's memory: whether the host reads a result that was thrown away, and whether it uses
// what an unfinished construct uses. The processor's debug registers do it, through perf_event_open(): no page loses
// its access, so that system calls, and all else that uses the memory, go on as without this. A processor has four, so
// that a word stands for its object, and the latest objects are the ones that are watched.
#pragma once

#include "check/findings.h"
#include "check/full/running.h"

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace omptool::check {

// A word of an object: 1, 2, 4 or 8 bytes, aligned to its size.
struct Word {
  std::uintptr_t address;
  std::size_t size;
};
// Returns the largest word that has the byte at `offset` and lies in the object.
Word word_at(const void* object, std::size_t size, std::size_t offset);

// Records the finding if the host reads the word before it writes to it. All threads are watched.
void watch_reads(Word word, const Finding& finding);
// Records the finding if another thread writes to the word, or uses it at all, before unwatch(construct).
enum class Use { kWrite, kAny };
void watch_use(Word word, Use use, std::uint64_t construct, const Finding& finding);
// The construct launches a kernel.
void name_kernel(const observe::Operation& launch);
void unwatch(std::uint64_t construct);
// The runtime is about to use these bytes for the program: nobody reads a result there any more.
void unwatch(const void* host, std::size_t size);

// For the handler of SIGTRAP. Returns whether the trap is one of these.
bool take_trap(const siginfo_t& info, const Frame& frame);

} // namespace omptool::check
