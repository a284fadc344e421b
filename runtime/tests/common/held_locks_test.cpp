// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of builds with sanitizers; in others it is nothing.
#include "held_locks.h"

#include "omptarget_rtl.h"
#include "rtl/rtl.h"
#include "scenario.h"
#include "threads/spin_lock.h"
#include "threads/turn.h"

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <link.h>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <type_traits>

using namespace omptool;

#ifdef OMPTOOL_CHECK_LOCKS

namespace {

struct Destroyed {
  ~Destroyed() { static_cast<void>(this); }
};

// Makes the call whose name the variable CALL has, and which shall not be made with a lock held.
void make_call() {
  const std::string call = std::getenv("CALL");
  Dl_info found{};
  if (call == "dlopen()")
    ::dlopen(nullptr, RTLD_LAZY);
  else if (call == "dlsym()")
    ::dlsym(RTLD_DEFAULT, "main");
  else if (call == "dladdr()")
    ::dladdr(&found, &found);
  else if (call == "dl_iterate_phdr()")
    ::dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 1; }, nullptr);
  else if (call == "__tgt_rtl_data_delete()") {
    RtlFunctions functions;
    functions.data_delete = [](std::int32_t, void*) { return 0; };
    functions.data_delete(0, nullptr);
  } else if (call == "the first use of a thread_local with a destructor") {
    static thread_local Destroyed destroyed;
    static_cast<void>(&destroyed);
  } else {
    std::exit(2);
  }
}

} // namespace

SCENARIO_OF(a_mutex_is_held) {
  std::mutex mutex;
  const std::lock_guard lock(mutex);
  make_call();
  return 0;
}
SCENARIO_OF(a_mutex_was_tried) {
  std::mutex mutex;
  const std::unique_lock lock(mutex, std::try_to_lock);
  make_call();
  return 0;
}
SCENARIO_OF(a_shared_mutex_is_read) {
  std::shared_mutex mutex;
  const std::shared_lock lock(mutex);
  make_call();
  return 0;
}
SCENARIO_OF(a_spin_lock_is_held) {
  SpinLock spin;
  const std::lock_guard lock(spin);
  make_call();
  return 0;
}
SCENARIO_OF(a_static_variable_is_initialised) {
  static const bool done = (make_call(), true);
  return done ? 0 : 1;
}
SCENARIO_OF(a_function_is_called_once) {
  std::once_flag once;
  std::call_once(once, make_call);
  return 0;
}
SCENARIO_OF(no_lock_is_held) {
  std::mutex mutex, other;
  {
    const std::scoped_lock both(mutex, other);
  }
  SpinLock spin;
  {
    const std::lock_guard lock(spin);
  }
  std::recursive_timed_mutex timed; // whoever waits for it goes on without it
  const std::unique_lock lock(timed, std::chrono::milliseconds(1));
  Turn turn;
  const std::lock_guard its(turn);
  EXPECT(held_locks::count() == 0);
  make_call();
  return 0;
}

TEST_CASE("a call that no lock may be held for ends a thread that holds one") {
  for (const std::string call : {"dlopen()", "dlsym()", "dladdr()", "dl_iterate_phdr()", "__tgt_rtl_data_delete()",
                                 "the first use of a thread_local with a destructor"}) {
    CAPTURE(call);
    const std::vector<std::string> environment{"CALL=" + call};
    for (const char* const scenario :
         {"a_mutex_is_held", "a_mutex_was_tried", "a_shared_mutex_is_read", "a_spin_lock_is_held",
          "a_static_variable_is_initialised", "a_function_is_called_once"}) {
      CAPTURE(scenario);
      const Outcome outcome = run_scenario(scenario, environment);
      CHECK(outcome.signal == 6);
      CHECK(outcome.has("omptarget: " + call + " is called by a thread that holds 1 of the runtime's locks\n"));
    }
    const Outcome outcome = run_scenario("no_lock_is_held", environment);
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "");
  }
}

#else

TEST_CASE("without sanitizers a function of a plugin is a plain pointer") {
  static_assert(std::is_same_v<decltype(RtlFunctions::data_delete), decltype(&__tgt_rtl_data_delete)>);
}

#endif
