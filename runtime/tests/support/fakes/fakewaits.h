// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <dlfcn.h>
#include <string>

// Counts of fakewaits.cpp since the process began.
struct FakeWaits {
  long waits;       // calls of wait_event, and of synchronous functions that copy or run: each waits for a GPU
  long made;        // events
  long released;    // events
  long allocated;   // pieces of device memory
  long deallocated; // the same
};
// FakeWaitsCounts is exported by the plugin under the name kFakeWaitsCounts.
using FakeWaitsCounts = void(FakeWaits* counts);
inline constexpr char kFakeWaitsCounts[] = "fakewaits_counts";

// Reads the counts of the plugin in that folder, which the test's process has opened.
inline FakeWaits counts_of_fakewaits(const std::string& folder) {
  static void* const plugin =
      dlopen((folder + "/fakewaits/libomptarget.rtl.fakewaits.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
  FakeWaits now{};
  reinterpret_cast<FakeWaitsCounts*>(dlsym(plugin, kFakeWaitsCounts))(&now);
  return now;
}
