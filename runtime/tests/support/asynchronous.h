// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plugins on which the tests of asynchronous calls run, one at a time.
#pragma once

#include "later.h"

#include <atomic>
#include <cstdint>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using Events = std::vector<tgt_event_t>;
using Environment = std::vector<std::string>;

inline const Environment kPlugins[] = {
    {"OMPTOOL_HOST_QUEUES=0"},
    {"OMPTOOL_HOST_QUEUES=1"},
    {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail"},
    {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakesync", "OMPTOOL_PLUGINS=fakesync"},
    // Fails each enforce_dep: the core has to wait for dependences itself.
    {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail", "OMPTOOL_HOST_QUEUES=1",
     "FAKEFAIL_IN=enforce_dep", "FAKEFAIL_EVERY=1"},
    {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail", "OMPTOOL_HOST_QUEUES=1"},
};

inline Environment with(Environment all, const Environment& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Runs the scenario on each plugin, and expects success without output.
inline void check_everywhere(const std::string& name, const Environment& more = {}) {
  for (const Environment& plugin : kPlugins) {
    const Outcome outcome = run_scenario(name, with(plugin, more));
    CAPTURE(plugin.back());
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "");
  }
}

inline tgt_callback_param_t param(std::uintptr_t number) {
  return reinterpret_cast<tgt_callback_param_t>(number);
}

// Counts the callbacks, and adds up their parameters.
inline std::atomic<int> called_back{0};
inline std::atomic<std::uintptr_t> params{0};

inline void count_callback(tgt_callback_param_t parameter) {
  params += reinterpret_cast<std::uintptr_t>(parameter);
  ++called_back;
}

inline Row ones(int& number, std::int32_t type = TOFROM | REF) {
  return row(number, type);
}

// A region that the host holds back, and all that comes after it.
class HeldRegion {
public:
  static inline int number = 0; // comes back at its end

  explicit HeldRegion(std::int32_t device = -1)
      : event(Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later, {}, device)) {}
  ~HeldRegion() {
    open();
    finish_all();
    __tgt_release_dep(event);
  }
  HeldRegion(const HeldRegion&) = delete;
  HeldRegion& operator=(const HeldRegion&) = delete;
  void open() { gate.open(); }
  // Opens it in a while, from another thread.
  std::jthread open_soon() {
    return std::jthread([this] {
      soon([this] { return gate.has_begun(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      gate.open();
    });
  }

private:
  Gate gate; // first: the kernel uses it

public:
  const tgt_event_t event;
};
