// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A signal handler reads all of this, so that it is arrays of fixed sizes without locks. A library that finds no place
// in one is not seen, and its faults count as the host's.
#include "check/full/running.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <link.h>
#include <span>
#include <sys/uio.h>
#include <unistd.h>

namespace omptool::check {
namespace {

// Library by its addresses; empty: none.
struct Library {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin.load(std::memory_order_acquire) && at < end.load(std::memory_order_acquire);
  }
};
using Libraries = std::array<Library, 64>;
constinit Libraries images, runtimes, c_library;

bool hold(const Libraries& codes, const void* address) {
  return std::any_of(codes.begin(), codes.end(), [=](const Library& one) { return one.holds(address); });
}

struct Sought {
  std::uintptr_t address, begin, end;
};

int is_sought(dl_phdr_info* library, std::size_t, void* data) {
  Sought& sought = *static_cast<Sought*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (const ElfW(Phdr) & part : std::span(library->dlpi_phdr, library->dlpi_phnum))
    if (part.p_type == PT_LOAD) {
      begin = std::min<std::uintptr_t>(begin, library->dlpi_addr + part.p_vaddr);
      end = std::max<std::uintptr_t>(end, library->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
  if (sought.address < begin || sought.address >= end)
    return 0;
  sought.begin = begin;
  sought.end = end;
  return 1;
}

void add_library_of(Libraries& codes, const void* address) {
  Sought sought{reinterpret_cast<std::uintptr_t>(address), 0, 0};
  if (hold(codes, address) || ::dl_iterate_phdr(is_sought, &sought) == 0)
    return;
  for (Library& one : codes) {
    std::uintptr_t none = 0;
    if (!one.begin.compare_exchange_strong(none, sought.begin))
      continue;
    one.end.store(sought.end, std::memory_order_release);
    return;
  }
}

// Running launch. Number 0: no launch is running.
struct Running {
  std::atomic<std::uint64_t> number{0};
  std::atomic<const void*> code{nullptr};
  std::array<char, 392> entry{};
};
constinit std::array<Running, 64> running{};
// Own launch of the thread, which the thread waits for.
constinit thread_local const Running* own_launch [[gnu::tls_model("initial-exec")]] = nullptr;
constinit std::atomic<const Running*> ended_last{nullptr};
constinit std::atomic<std::int32_t (*)()> is_in_kernel{nullptr};

// Returns the launch that the thread belongs to. A thread that a kernel has made may belong to any running one.
const Running* launch_here() {
  const Running* here = own_launch;
  for (const Running& one : running) {
    if (own_launch || one.number == 0)
      continue;
    if (here && std::strcmp(here->entry.data(), one.entry.data()) != 0)
      return nullptr;
    here = &one;
  }
  return here;
}

KernelPlace place_here(const void* code) {
  const Running* const here = launch_here();
  return {code, here ? std::string_view(here->entry.data()) : std::string_view()};
}

// Returns the nearest caller that is a kernel's or the runtime's; null: neither. The stack may end before the words do.
const void* nearest_caller(const std::uintptr_t* stack) {
  std::array<std::uintptr_t, 64> words{};
  const iovec into{words.data(), sizeof words};
  const iovec from{const_cast<std::uintptr_t*>(stack), sizeof words};
  const ssize_t bytes = ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0);
  const std::size_t count = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof words[0] : 0;
  for (const std::uintptr_t word : std::span(words).first(count))
    if (const auto* const address = reinterpret_cast<const void*>(word);
        hold(images, address) || hold(runtimes, address))
      return address;
  return nullptr;
}

} // namespace

void launch_begins(const observe::Operation& launch) {
  // The host plugin's kernels of teams have handles that are no addresses.
  if (reinterpret_cast<std::intptr_t>(launch.there) > 0)
    add_library_of(images, launch.there);
  for (Running& one : running) {
    std::uint64_t none = 0;
    if (!one.number.compare_exchange_strong(none, launch.id))
      continue;
    one.code = launch.there;
    one.entry[launch.entry.copy(one.entry.data(), one.entry.size() - 1)] = '\0';
    if (launch.queue == 0)
      own_launch = &one;
    return;
  }
}

void launch_ends(const observe::Operation& launch) {
  for (Running& one : running)
    if (one.number == launch.id) {
      if (own_launch == &one)
        own_launch = nullptr;
      ended_last = &one;
      one.number = 0;
    }
}

KernelPlace last_kernel() {
  const Running* const last = ended_last;
  return last ? KernelPlace{hold(images, last->code) ? last->code.load() : nullptr, last->entry.data()} : KernelPlace{};
}

void forget_images() {
  for (Library& one : images) {
    one.end = 0;
    one.begin = 0;
  }
}

void know_runtime(const void* code) {
  add_library_of(runtimes, code);
}

void know_plugin(std::int32_t (*asked)()) {
  is_in_kernel = asked;
  add_library_of(c_library, reinterpret_cast<const void*>(&std::memmove));
  add_library_of(runtimes, reinterpret_cast<const void*>(asked));
  add_library_of(runtimes, reinterpret_cast<const void*>(&know_plugin));
}

bool is_program(const Frame& frame) {
  if (hold(images, frame.code) || hold(runtimes, frame.code))
    return false;
  if (!hold(c_library, frame.code)) // whose callers are in the stack, beside what was there before
    return true;
  return !(frame.caller ? hold(images, frame.caller) || hold(runtimes, frame.caller)
                        : nearest_caller(frame.stack) != nullptr);
}

KernelPlace kernel_at(const Frame& frame) {
  if (hold(images, frame.code))
    return place_here(frame.code);
  if (hold(runtimes, frame.code))
    return {};
  const void* const caller = frame.caller ? frame.caller : nearest_caller(frame.stack);
  if (hold(images, caller)) // it is behind the call
    return place_here(static_cast<const char*>(caller) - 1);
  const auto asked = is_in_kernel.load();
  if (!asked || asked() == 0)
    return {};
  const Running* const here = launch_here(); // the kernel has jumped to a function, for a last call
  return place_here(here && hold(images, here->code) ? here->code.load() : frame.code);
}

} // namespace omptool::check
