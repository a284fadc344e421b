// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses two debug registers for a word whose reads matter: one for all accesses and one for writes, because a register
// cannot separate the two.
#include "check/full/host_watch.h"

#include "check/full/faults.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace omptool::check {
namespace {

constexpr std::size_t kMostThreads = 16;
constexpr int kFirstNumber = 512;                 // of descriptors: few programs get to these
constexpr std::uint64_t kOurs = 0x6f6d70746f6f6c; // in the upper bytes of what a trap brings along

// Registers of a thread for a word. -1: none.
struct Registers {
  int traps = -1, writes = -1;
};

struct Watch {
  std::atomic<bool> is_on{false};
  std::atomic<std::uint64_t> construct{0}; // 0: it waits for a read
  Word word{};
  std::uint64_t value = 0;
  Finding finding{};
  std::array<char, 160> message{};
  std::array<char, 64> variable{};
  std::array<char, 392> entry{};
  std::array<char, 480> source{};
  std::array<Registers, kMostThreads> registers{};
};

struct Watches {
  std::mutex mutex;
  std::array<Watch, 4> all;
  std::size_t next = 0; // to be replaced
  bool is_refused = false;
};
constinit Watches watches;

std::uint64_t value_of(Word word) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(word.address), word.size);
  return value;
}

#if defined(PERF_ATTR_SIZE_VER7)

int open_register(int thread, Word word, std::uint32_t kind, std::uint64_t data) {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_BREAKPOINT;
  wanted.size = sizeof wanted;
  wanted.bp_type = kind;
  wanted.bp_addr = word.address;
  wanted.bp_len = word.size;
  wanted.sample_period = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  if (data != 0) {
    wanted.sigtrap = 1;
    wanted.remove_on_exec = 1;
    wanted.sig_data = data;
  }
  const auto low = static_cast<int>(::syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  const int high = low < 0 ? low : ::fcntl(low, F_DUPFD_CLOEXEC, kFirstNumber);
  if (high >= 0)
    ::close(low);
  return high >= 0 ? high : low;
}
void switch_off(int number) {
  ::ioctl(number, PERF_EVENT_IOC_DISABLE, 0);
}

#else

int open_register(int, Word, std::uint32_t, std::uint64_t) {
  errno = ENOSYS;
  return -1;
}
void switch_off(int) {}

#endif

// Turns a watch off; also called in signal handlers.
void turn_off(Watch& watch) {
  watch.is_on = false;
  for (const Registers& one : watch.registers)
    if (one.traps >= 0)
      switch_off(one.traps);
}

void close_registers(Watch& watch) {
  watch.is_on = false;
  for (Registers& one : watch.registers) {
    if (one.traps >= 0)
      ::close(one.traps);
    if (one.writes >= 0)
      ::close(one.writes);
    one = {};
  }
}

std::vector<int> threads() {
  std::vector<int> found;
  DIR* const folder = ::opendir("/proc/self/task");
  while (const dirent* const entry = folder ? ::readdir(folder) : nullptr)
    if (const int thread = std::atoi(entry->d_name); thread > 0 && found.size() < kMostThreads)
      found.push_back(thread);
  if (folder)
    ::closedir(folder);
  return found;
}

template <std::size_t size> std::string_view keep(std::array<char, size>& place, std::string_view text) {
  const std::size_t length = text.copy(place.data(), size - 1);
  place[length] = '\0';
  return {place.data(), length};
}

void refuse(int error) {
  watches.is_refused = true;
  const std::string message = std::string("the processor's watchpoints cannot be used (") + std::strerror(error) +
                              "): nobody checks whether the host uses a result that is thrown away, or what an "
                              "unfinished region uses";
  record({Code::kNotChecked, message});
}

// Returns whether any thread is watched.
bool open_registers(Watch& watch, std::uint32_t kind, bool counts_writes, int except) {
  const auto number = static_cast<std::uint64_t>(&watch - watches.all.data());
  std::size_t used = 0;
  const std::vector<int> all = threads();
  if (all.empty())
    refuse(errno);
  for (const int thread : all) {
    if (thread == except)
      continue;
    Registers& one = watch.registers[used];
    if (counts_writes)
      one.writes = open_register(thread, watch.word, HW_BREAKPOINT_W, 0);
    if (!counts_writes || one.writes >= 0)
      one.traps = open_register(thread, watch.word, kind, kOurs << 8 | number << 4 | used);
    if (one.traps >= 0) {
      ++used;
    } else if (errno != ENOSPC && errno != ESRCH) { // no register is free; the thread has ended
      refuse(errno);
      break;
    }
  }
  return used > 0;
}

void watch(Word word, std::uint32_t kind, std::uint64_t construct, const Finding& finding, int except) {
  [[maybe_unused]] static const int forks = // a child has the lock to itself
      ::pthread_atfork([] { watches.mutex.lock(); }, [] { watches.mutex.unlock(); }, [] { watches.mutex.unlock(); });
  const std::lock_guard guard(watches.mutex);
  if (watches.is_refused)
    return;
  // Reads need two registers: only every second watch is used for them.
  const std::size_t step = construct == 0 ? 2 : 1;
  watches.next = (watches.next + step) % watches.all.size() / step * step;
  Watch& one = watches.all[watches.next];
  close_registers(one);
  if (construct == 0)
    close_registers(watches.all[watches.next + 1]);
  one.word = word;
  one.construct = construct;
  one.value = value_of(word);
  one.finding = finding;
  one.finding.message = keep(one.message, finding.message);
  one.finding.variable = keep(one.variable, finding.variable);
  one.finding.entry = keep(one.entry, finding.entry);
  one.finding.source = keep(one.source, finding.source);
  watch_traps();
  one.is_on = true;
  if (!open_registers(one, kind, construct == 0, except))
    close_registers(one);
}

} // namespace

Word word_at(const void* object, std::size_t size, std::size_t offset) {
  const auto begin = reinterpret_cast<std::uintptr_t>(object), end = begin + size;
  for (std::size_t length = sizeof(std::uint64_t); length > 1; length /= 2) {
    const std::uintptr_t address = (begin + offset) / length * length;
    if (address >= begin && address + length <= end)
      return {address, length};
  }
  return {begin + offset, 1};
}

void watch_reads(Word word, const Finding& finding) {
  watch(word, HW_BREAKPOINT_RW, 0, finding, 0);
}

void watch_use(Word word, Use use, std::uint64_t construct, const Finding& finding) {
  const auto here = static_cast<int>(::syscall(SYS_gettid));
  watch(word, use == Use::kAny ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W, construct, finding, here);
}

void name_kernel(const observe::Operation& launch) {
  const auto is_its = [&](const Watch& one) { return one.is_on && one.construct == launch.construct; };
  if (launch.construct == 0 || std::none_of(watches.all.begin(), watches.all.end(), is_its))
    return;
  const std::lock_guard guard(watches.mutex);
  for (Watch& one : watches.all)
    if (is_its(one)) {
      one.finding.entry = keep(one.entry, launch.entry);
      one.finding.kernel = reinterpret_cast<std::intptr_t>(launch.there) > 0 ? launch.there : nullptr;
    }
}

void unwatch(std::uint64_t construct) {
  const std::lock_guard guard(watches.mutex);
  for (Watch& one : watches.all)
    if (one.construct == construct && one.construct != 0)
      close_registers(one);
}

void unwatch(const void* host, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(host);
  if (std::none_of(watches.all.begin(), watches.all.end(), [](const Watch& one) { return one.is_on.load(); }))
    return;
  const std::lock_guard guard(watches.mutex);
  for (Watch& one : watches.all)
    if (one.is_on && one.construct == 0 && one.word.address + one.word.size > begin && one.word.address < begin + size)
      close_registers(one);
}

#if defined(TRAP_PERF)
constexpr int kTrapOfRegister = TRAP_PERF;
#else
constexpr int kTrapOfRegister = 6;
#endif

bool take_trap(const siginfo_t& info, const Frame& frame) {
  struct {
    std::uint64_t data;
    std::uint32_t type, flags;
  } trap; // behind the address; the C library of today has no name for it
  std::memcpy(&trap, reinterpret_cast<const char*>(&info.si_addr) + sizeof info.si_addr, sizeof trap);
  if (info.si_code != kTrapOfRegister || trap.data >> 8 != kOurs)
    return false;
  Watch& one = watches.all[trap.data >> 4 & 3];
  const Registers& registers = one.registers[trap.data & 15];
  constexpr std::uint32_t kLate = 1; // the thread had blocked the signal
  if (!one.is_on || trap.flags & kLate || !is_program(frame))
    return true;
  turn_off(one);
  std::uint64_t writes = 0;
  const bool reads = one.construct != 0 || ::read(registers.writes, &writes, sizeof writes) != sizeof writes ||
                     (writes == 0 && value_of(one.word) == one.value);
  if (!reads)
    return true;
  one.finding.call = frame.code; // it is behind the instruction
  record(one.finding);
  return true;
}

} // namespace omptool::check
