// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled without sanitizers, because their own start-up code calls these functions. Of locks with a time limit only
// the release is checked: a thread that waits for such a lock continues without it after the limit.
#include "held_locks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptool::held_locks {
namespace {

constexpr std::size_t kMost = 64;
struct Held {
  std::size_t of_pthreads, others;
  std::array<const void*, kMost> locks; // of pthreads
};

constexpr unsigned kNone = ~0U;
constinit std::atomic<unsigned> key{kNone};

void release(void* memory) {
  ::munmap(memory, sizeof(Held));
}

// Returns null if the thread has not held a lock yet.
Held* known() {
  const unsigned made = key.load(std::memory_order_acquire);
  return made == kNone ? nullptr : static_cast<Held*>(::pthread_getspecific(made));
}

// Not a thread_local: there is little room for those of a library that is opened. Not malloc: the start of a sanitizer
// passes here.
Held& of_thread() {
  if (Held* const held = known())
    return *held;
  if (pthread_key_t made = 0; key.load(std::memory_order_acquire) == kNone && ::pthread_key_create(&made, release) == 0)
    if (unsigned none = kNone; !key.compare_exchange_strong(none, made))
      ::pthread_key_delete(made);
  auto* const memory = reinterpret_cast<Held*>(
      ::syscall(SYS_mmap, nullptr, sizeof(Held), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED || ::pthread_setspecific(key.load(std::memory_order_acquire), memory) != 0)
    std::abort();
  return *memory;
}

void add(const void* lock) {
  Held& held = of_thread();
  if (held.of_pthreads == kMost) {
    ::dprintf(STDERR_FILENO, "omptarget: a thread holds more than %zu of the runtime's locks\n", kMost);
    std::abort();
  }
  held.locks[held.of_pthreads++] = lock;
}

} // namespace

void acquired() {
  ++of_thread().others;
}

void released() {
  --of_thread().others;
}

void forget(const void* lock) {
  Held& held = of_thread();
  const auto end = held.locks.begin() + static_cast<std::ptrdiff_t>(held.of_pthreads);
  const auto at = std::find(held.locks.begin(), end, lock);
  if (at == end)
    return;
  std::copy(at + 1, end, at);
  --held.of_pthreads;
}

std::size_t count() {
  const Held* const held = known();
  return held ? held->of_pthreads + held->others : 0;
}

void require_none(const char* call) {
  if (count() == 0)
    return;
  ::dprintf(STDERR_FILENO, "omptarget: %s is called by a thread that holds %zu of the runtime's locks\n", call,
            count());
  std::abort();
}

} // namespace omptool::held_locks

// ---- what --wrap leads here ----

// The result is that of the real function, whose parameters are the arguments.
#define OMPTOOL_WRAP(result, name, parameters)                                                                         \
  result __real_##name parameters;                                                                                     \
  result __wrap_##name parameters

namespace held = omptool::held_locks;

namespace {

int noted(const void* lock, int error) {
  if (error == 0)
    held::add(lock);
  return error;
}

struct Holding {
  explicit Holding(const void* its_lock) : lock(its_lock) { held::add(lock); }
  ~Holding() { held::forget(lock); }
  const void* const lock;
};

} // namespace

extern "C" {

OMPTOOL_WRAP(int, pthread_mutex_lock, (pthread_mutex_t * mutex)) {
  return noted(mutex, __real_pthread_mutex_lock(mutex));
}
OMPTOOL_WRAP(int, pthread_mutex_trylock, (pthread_mutex_t * mutex)) {
  return noted(mutex, __real_pthread_mutex_trylock(mutex));
}
OMPTOOL_WRAP(int, pthread_mutex_unlock, (pthread_mutex_t * mutex)) {
  held::forget(mutex);
  return __real_pthread_mutex_unlock(mutex);
}
OMPTOOL_WRAP(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock)) {
  return noted(lock, __real_pthread_rwlock_rdlock(lock));
}
OMPTOOL_WRAP(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock)) {
  return noted(lock, __real_pthread_rwlock_wrlock(lock));
}
OMPTOOL_WRAP(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock)) {
  held::forget(lock);
  return __real_pthread_rwlock_unlock(lock);
}
OMPTOOL_WRAP(int, pthread_once, (pthread_once_t * once, void (*function)())) {
  const Holding here(once);
  return __real_pthread_once(once, function);
}
// Not 0: the caller initialises the static variable, and holds its guard meanwhile.
OMPTOOL_WRAP(int, __cxa_guard_acquire, (void* guard)) {
  const int is_first = __real___cxa_guard_acquire(guard);
  if (is_first != 0)
    held::add(guard);
  return is_first;
}
OMPTOOL_WRAP(void, __cxa_guard_release, (void* guard)) {
  held::forget(guard);
  __real___cxa_guard_release(guard);
}
OMPTOOL_WRAP(void, __cxa_guard_abort, (void* guard)) {
  held::forget(guard);
  __real___cxa_guard_abort(guard);
}

OMPTOOL_WRAP(int, __cxa_thread_atexit, (void (*function)(void*), void* object, void* library)) {
  held::require_none("the first use of a thread_local with a destructor");
  return __real___cxa_thread_atexit(function, object, library);
}
OMPTOOL_WRAP(void*, dlopen, (const char* path, int mode)) {
  held::require_none("dlopen()");
  return __real_dlopen(path, mode);
}
OMPTOOL_WRAP(int, dlclose, (void* handle)) {
  held::require_none("dlclose()");
  return __real_dlclose(handle);
}
OMPTOOL_WRAP(void*, dlsym, (void* handle, const char* name)) {
  held::require_none("dlsym()");
  return __real_dlsym(handle, name);
}
OMPTOOL_WRAP(void*, dlvsym, (void* handle, const char* name, const char* version)) {
  held::require_none("dlvsym()");
  return __real_dlvsym(handle, name, version);
}
OMPTOOL_WRAP(int, dladdr, (const void* address, Dl_info* found)) {
  held::require_none("dladdr()");
  return __real_dladdr(address, found);
}
OMPTOOL_WRAP(int, dladdr1, (const void* address, Dl_info* found, void** extra, int flags)) {
  held::require_none("dladdr1()");
  return __real_dladdr1(address, found, extra, flags);
}
OMPTOOL_WRAP(int, dl_iterate_phdr, (int (*visit)(dl_phdr_info*, std::size_t, void*), void* context)) {
  held::require_none("dl_iterate_phdr()");
  return __real_dl_iterate_phdr(visit, context);
}

} // extern "C"
