// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/opening.h"

#include "observe/observers.h"
#include "process/environment.h"
#include "process/message.h"
#include "process/own_file.h"
#include "process/per_process.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace omptool::observe {
namespace {

// ---- what the environment asks for ----

bool is_set(const char* variable) {
  const char* const value = ::secure_getenv(variable);
  return value && *value;
}

// Returns the variable that asks for tables at the end of the process; null: none.
const char* variable_of_tables() {
  constexpr const char* kSummary = "OMPTOOL_SUMMARY";
  return is_set(kSummary) && std::strcmp(::secure_getenv(kSummary), "0") != 0 ? kSummary : nullptr;
}

const char* variable_of_early_ones() {
  for (const char* const one : {"OMPTOOL_REPORT", "OMPTOOL_SUMMARY_JSON"})
    if (is_set(one))
      return one;
  return variable_of_tables();
}

// The settings of a trace open the library without a trace, too: it prints a line about a value that cannot be used.
const char* variable_of_all() {
  for (const char* const one : {"OMPTOOL_TRACE", "LIBOMPTARGET_PROFILE", "OMPTOOL_CHECK", "OMPTOOL_TRACE_FORMAT",
                                "OMPTOOL_TRACE_LIMIT", "LIBOMPTARGET_PROFILE_GRANULARITY"})
    if (is_set(one))
      return one;
  return environment().kernel_timeout > 0 ? "OMPTOOL_KERNEL_TIMEOUT" : variable_of_early_ones();
}

// ---- the library ----

struct OwnCore : Core {
  OwnCore()
      : Core{.version = OMPTOOL_VERSION,
             .subscribe = observe::subscribe,
             .now = observe::now,
             .latest = observe::latest,
             .construct_here = observe::construct_here,
             .say = omptool::say,
             .tell = omptool::tell,
             .die = omptool::die,
             .kernel_timeout = environment().kernel_timeout,
             .spreads_regions = environment().device_policy == DevicePolicy::kLeastLoaded} {}
};

constinit std::atomic<Observers*> opened{nullptr};
constinit std::atomic<bool> is_refused{false};

// Opens the library for good: threads call observers while the process exits. Threads that each open it get one object.
Observers* open(std::string& why) {
  const std::string path = own_folder() + "/" + kObserversFile;
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* const function = handle ? reinterpret_cast<OpenObservers*>(::dlsym(handle, kOpenObservers)) : nullptr;
  if (!function) {
    why = ::dlerror();
    return nullptr;
  }
  why = path + " is of another omptool";
  return function(PerProcess<const OwnCore>::get());
}

// Opens the observers for a variable. Returns null if the variable is not set, or if the library cannot be opened; then
// one line names both.
Observers* observers_for(const char* variable) {
  if (Observers* const known = opened.load(std::memory_order_acquire); known || !variable || is_refused)
    return known;
  std::string why;
  Observers* const made = open(why);
  if (made)
    opened.store(made, std::memory_order_release);
  else if (!is_refused.exchange(true))
    say("the runtime ignores %s: %s", variable, why.c_str());
  return made;
}

// Runs behind this library's other destructors, which print. Libraries that registered have gone by then, as they need
// this one. The tables of a program that has made no call are printed, too, and its files are listed.
[[gnu::destructor(101)]] void finish_observers() {
  constexpr const char* kReport = "OMPTOOL_REPORT";
  if (Observers* const observers = observers_for(is_set(kReport) ? kReport : variable_of_tables()))
    observers->finish();
}

} // namespace

void start_early_observers() {
  if (Observers* const observers = observers_for(variable_of_early_ones()))
    observers->start_early();
}

void start_observers() {
  if (Observers* const observers = observers_for(variable_of_all()))
    observers->start();
}

MemoryGuard* memory_guard() {
  Observers* const observers = opened.load(std::memory_order_acquire);
  return observers ? observers->memory_guard() : nullptr;
}

} // namespace omptool::observe
