// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin over a device that fails and that is strict about its memory.
//
//   FAKEFAIL_AT=N     the N-th call that can fail does, counted from 1
//   FAKEFAIL_ON=1     and so does every call after it
//   FAKEFAIL_EVERY=N  every N-th call fails, silently
//   FAKEFAIL_IN=name  the calls of this function only
//   FAKEFAIL_HOOK=1   before a call fails, the program's test_call_fails() does what another thread might
//   FAKEFAIL_RESULT=N what a run that fails returns, if not 1
//   FAKEFAIL_COPY=N   what a copy that fails returns, if not 1; also when queued
//   FAKEFAIL_ADDRESSABLE=1  it says that the host can use its memory
//   FAKEFAIL_TABLE=how  its tables of entries are changed: see Tables
//   FAKEFAIL_TELL=1   what it is asked to run is said on stderr
//
// An asynchronous call has the name of the synchronous one, and can fail twice: at once, and, as later_..., in the
// event that it makes. The operation of such an event does not run, nor does what depends on it. Joins are "dep" and
// "later_dep". Where enforce_dep fails, the core has to wait.
//
// Its memory holds no zeros to begin with, and the host cannot touch it while no kernel runs and nothing is copied, or
// queued. At the end of the program it reports on stderr memory that is left, and memory that was freed twice.
#include "queued_calls.h"
#include "tracked_events.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

long number_in(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::atol(value) : 0;
}

bool fails(const char* function) {
  static std::atomic<long> calls{0};
  static const long at = number_in("FAKEFAIL_AT");
  static const bool stay = number_in("FAKEFAIL_ON") != 0;
  static const char* const only = std::getenv("FAKEFAIL_IN");
  static const long every = number_in("FAKEFAIL_EVERY");
  if ((at == 0 && every == 0) || (only && std::strcmp(only, function) != 0))
    return false;
  const long call = ++calls;
  if (every != 0)
    return call % every == 0;
  const bool failed = stay ? call >= at : call == at;
  if (failed)
    std::fprintf(stderr, "FAKE: call %ld, %s, fails\n", call, function);
  if (void* const hook = failed && number_in("FAKEFAIL_HOOK") != 0 ? dlsym(RTLD_DEFAULT, "test_call_fails") : nullptr)
    reinterpret_cast<void (*)()>(hook)();
  return failed;
}

std::int32_t failed_run() {
  return std::getenv("FAKEFAIL_RESULT") ? static_cast<std::int32_t>(number_in("FAKEFAIL_RESULT")) : 1;
}

std::atomic<bool> is_lost{false}; // as a copy has said

std::int32_t failed_copy() {
  const auto result = std::getenv("FAKEFAIL_COPY") ? static_cast<std::int32_t>(number_in("FAKEFAIL_COPY")) : 1;
  is_lost = is_lost || result == OMPTARGET_RTL_DEVICE_LOST;
  return result;
}

// Returns the result of wait_event and query_event.
std::int32_t later_result(std::int32_t result) {
  return result == 1 ? failed_copy() : result;
}

// Returns whether a call of the device fails. Nobody is to ask a lost device.
bool refuses(const char* function) {
  if (is_lost)
    std::fprintf(stderr, "FAKE: %s is asked of a lost device\n", function);
  return fails(function);
}

// `shape`: of teams.
void tell_of_run(const char* shape) {
  if (number_in("FAKEFAIL_TELL") != 0)
    std::fprintf(stderr, "FAKE: run %s\n", shape);
}

class Memory {
public:
  void* allocate(std::int64_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t length = (static_cast<std::size_t>(size) + page - 1) / page * page;
    void* const made = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
      return nullptr;
    constexpr int kJunk = 0xa5;
    std::memset(made, kJunk, length);
    const std::lock_guard lock(mutex_);
    lengths_[made] = length;
    protect(made, length);
    return made;
  }
  void release(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto at = lengths_.find(memory);
    if (at == lengths_.end()) {
      std::fprintf(stderr, "FAKE: %p is freed, but not allocated\n", memory);
      return;
    }
    ::munmap(memory, at->second);
    lengths_.erase(at);
  }
  // Enters a kernel or a copy.
  void enter() {
    const std::lock_guard lock(mutex_);
    if (inside_++ == 0)
      protect_all();
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--inside_ == 0)
      protect_all();
  }
  void report() {
    const std::lock_guard lock(mutex_);
    for (const auto& [memory, length] : lengths_)
      std::fprintf(stderr, "FAKE: %p is left allocated\n", memory);
  }

private:
  void protect(void* memory, std::size_t length) const {
    ::mprotect(memory, length, inside_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  void protect_all() const {
    for (const auto& [memory, length] : lengths_)
      protect(memory, length);
  }
  std::mutex mutex_;
  std::map<void*, std::size_t> lengths_;
  int inside_ = 0;
};

Memory& memory() {
  static Memory& only = *new Memory; // threads may go on while the program ends
  return only;
}

__attribute__((destructor)) void report() {
  memory().report();
}

// Tables of the real plugin, changed: the plugin's table equals the host's at first in names, sizes and order.
class Tables {
public:
  static tgt_target_table* changed(tgt_target_table* real) {
    const char* const how = std::getenv("FAKEFAIL_TABLE");
    if (!real || !how)
      return real;
    static auto& all = *new std::deque<Changed>; // for as long as the process runs
    Changed& made = all.emplace_back();
    made.entries.assign(real->EntriesBegin, real->EntriesEnd);
    for (const char* one : {"reversed", "short", "long", "doubled", "same", "sized", "unnamed"})
      if (std::strstr(how, one))
        change(made.entries, one);
    made.table = {made.entries.data(), made.entries.data() + made.entries.size()};
    if (std::strstr(how, "odd"))
      made.table.EntriesEnd =
          reinterpret_cast<__tgt_offload_entry*>(reinterpret_cast<char*>(made.table.EntriesEnd) - 8);
    return &made.table;
  }

private:
  struct Changed {
    std::vector<__tgt_offload_entry> entries;
    tgt_target_table table;
  };
  static void change(std::vector<__tgt_offload_entry>& entries, const std::string& how) {
    static char unknown[] = "unknown";
    if (how == "reversed")
      std::reverse(entries.begin(), entries.end());
    else if (how == "short") // without what is absent
      std::erase_if(entries, [](const __tgt_offload_entry& entry) { return !entry.addr; });
    else if (how == "long")
      entries.insert(entries.begin(), {unknown, unknown, 3});
    else if (how == "doubled")
      entries.push_back({entries.back().addr, entries.front().name, entries.front().size});
    else if (how == "same")
      entries.push_back(entries.front());
    else if (how == "sized")
      ++entries.front().size;
    else if (how == "unnamed")
      for (__tgt_offload_entry& entry : entries)
        entry.name = nullptr;
  }
};

TrackedEvents& events() {
  static TrackedEvents& only = *new TrackedEvents;
  return only;
}

std::atomic<bool> next_fails{false};

void completed(tgt_event_t event) {
  memory().leave();
  events().complete(event);
}

std::int32_t queue(const Operation& operation) {
  static std::once_flag listening;
  std::call_once(listening, [] { HOST(__tgt_rtl_init_dep)(completed); });
  events().release_left();
  const bool runs = !operation.shape.empty();
  if (runs)
    tell_of_run(operation.shape.c_str());
  if (refuses(operation.name))
    return runs ? failed_run() : failed_copy();
  const bool fails_later = fails((std::string("later_") + operation.name).c_str()) || next_fails.exchange(false);
  const std::int32_t count = operation.dependences ? operation.count : 0;
  if (!events().are_live(count, operation.dependences))
    return 1;
  const bool failed = fails_later || events().any_fails(count, operation.dependences);
  memory().enter();
  const std::int32_t result =
      failed ? HOST(__tgt_rtl_async_dep)(operation.device, operation.count, operation.dependences, operation.made)
             : operation.forward();
  if (result == 0)
    events().add(*operation.made, failed);
  else
    memory().leave();
  return result;
}

class Inside {
public:
  Inside() { memory().enter(); }
  ~Inside() { memory().leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

} // namespace

FAKE_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return fails("number_of_devices") ? -1 : 1;
}
FAKE_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  return fails("is_valid_binary") ? 0 : HOST(__tgt_rtl_is_valid_binary)(image);
}
FAKE_EXPORT int32_t __tgt_rtl_init_device(int32_t device) {
  return fails("init_device") ? 1 : HOST(__tgt_init_device)(device);
}
FAKE_EXPORT tgt_target_table* __tgt_rtl_load_binary(int32_t device, __tgt_device_image* image) {
  return refuses("load_binary") ? nullptr : Tables::changed(HOST(__tgt_rtl_load_binary)(device, image));
}
FAKE_EXPORT int32_t __tgt_rtl_unload_binary(int32_t device, __tgt_device_image* image) {
  return HOST(__tgt_rtl_unload_binary)(device, image);
}
FAKE_EXPORT void* __tgt_rtl_data_alloc(int32_t device, int64_t size) {
  return HOST(__tgt_init_device)(device) != 0 || refuses("data_alloc") ? nullptr : memory().allocate(size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_submit(int32_t device, void* target, void* host, int64_t size) {
  const Inside copying;
  return refuses("data_submit") ? failed_copy() : HOST(__tgt_rtl_data_submit)(device, target, host, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device, void* host, void* target, int64_t size) {
  const Inside copying;
  return refuses("data_retrieve") ? failed_copy() : HOST(__tgt_rtl_data_retrieve)(device, host, target, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_delete(int32_t, void* target) {
  memory().release(target);
  return refuses("data_delete");
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_region(int32_t device, void* entry, void** arguments, int32_t count) {
  const Inside running;
  tell_of_run("alone");
  return refuses("run") ? failed_run() : HOST(__tgt_rtl_run_target_region)(device, entry, arguments, count);
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device, void* entry, void** arguments, int32_t count,
                                                     int32_t teams, int32_t threads) {
  const Inside running;
  tell_of_run(("teams " + std::to_string(teams) + " threads " + std::to_string(threads)).c_str());
  return refuses("run") ? failed_run()
                        : HOST(__tgt_rtl_run_target_team_region)(device, entry, arguments, count, teams, threads);
}
FAKE_EXPORT int32_t __tgt_rtl_memory_is_addressable(int32_t) {
  return number_in("FAKEFAIL_ADDRESSABLE") != 0;
}
FAKE_EXPORT int32_t __tgt_rtl_reaches_host_memory(int32_t device) {
  return device == 0 && !fails("reaches_host_memory");
}
FAKE_EXPORT const char* __tgt_rtl_last_error(void) {
  return "FAKE failure";
}

FAKE_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct callback) {
  events().set_callback(callback);
}
FAKE_EXPORT int32_t __tgt_rtl_enforce_dep(int32_t from, int32_t to, tgt_event_t event) {
  return fails("enforce_dep") || !events().are_live(1, &event) ? 0 : HOST(__tgt_rtl_enforce_dep)(from, to, event);
}
FAKE_EXPORT void __tgt_rtl_release_dep(tgt_event_t event) {
  events().release(event);
}
FAKE_EXPORT int32_t __tgt_rtl_process_dep(void) {
  return HOST(__tgt_rtl_process_dep)();
}
FAKE_EXPORT int32_t __tgt_rtl_wait_event(tgt_event_t event) {
  return later_result(events().result(event, HOST(__tgt_rtl_wait_event)(event)));
}
FAKE_EXPORT int32_t __tgt_rtl_query_event(tgt_event_t event) {
  return later_result(events().result(event, HOST(__tgt_rtl_query_event)(event)));
}
FAKE_EXPORT int32_t __tgt_rtl_in_kernel(void) {
  return HOST(__tgt_rtl_in_kernel)();
}
FAKE_EXPORT int32_t __tgt_rtl_prefers_queues(int32_t device) {
  return HOST(__tgt_rtl_prefers_queues)(device);
}
// For conformance_events_test.cpp.
FAKE_EXPORT void test_next_operation_fails(void) {
  next_fails = true;
}
