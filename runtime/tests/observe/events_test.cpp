// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what a program's calls report, and that nothing is locked then.
#include "observe/events/events.h"
#include "observe/events/sink.h"
#include "omptarget.h"
#include "scenario.h"

#include <chrono>
#include <cstdio>
#include <doctest/doctest.h>
#include <fstream>
#include <future>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace omptool::observe;

extern "C" void omptarget_register_lib(__tgt_bin_desc* descriptor);
extern "C" void omptarget_unregister_lib(__tgt_bin_desc* descriptor);

namespace {

char add_one, unknown; // addresses that stand for the host versions
int values[4] = {1, 2, 3, 4};

const char* name_of(Operation::Kind kind) {
  static const char* const kNames[] = {"allocate", "to",   "from", "free", "associate", "disassociate",
                                       "launch",   "wait", "join", "fill", "exchange"};
  return kNames[static_cast<int>(kind)];
}

// Transcript of events, one line each; addresses and times are separate.
struct Transcript {
  std::ostringstream text;
  void operator()(const ConstructBegins& event) {
    text << "begins " << event.call.function << " device " << event.call.device << "\n";
  }
  void operator()(const ConstructEnds& event) { text << "ends " << event.call.function << "\n"; }
  void operator()(const RowsSeen& event) {
    static const char* const kNames[] = {"mapped", "released", "updated"};
    text << kNames[static_cast<int>(event.kind)];
    for (const RowSeen& row : event.rows) {
      text << " size " << row.size;
      if (row.object)
        text << " count " << row.object->references << (row.object->fresh ? " fresh" : "")
             << (row.object->leaving ? " leaving" : "");
    }
    text << "\n";
  }
  void operator()(const ObjectCopied& event) {
    text << (event.to_device ? "copied in " : "copied out ") << event.size << "\n";
  }
  void operator()(const OperationEnds& event) {
    const Operation& operation = event.operation;
    text << name_of(operation.kind) << " "
         << (operation.entry.empty() ? std::to_string(operation.size) : operation.entry)
         << (operation.construct ? "" : " of no construct") << (operation.failed ? " failed" : "") << "\n";
  }
  void operator()(const FellBack& event) { text << "fell back: " << event.reason << "\n"; }
  void operator()(const ImageLoaded&) { text << "image loaded\n"; }
  void operator()(const DeviceReady& event) { text << "device " << event.device << " ready\n"; }
  template <typename Other> void operator()(const Other&) {}
};

// Narrow listener: another thread can use the device while this one receives an event, because nothing is locked.
class Narrow : public Listener {
public:
  void hear(const Event& event) override {
    dispatch(event, [this](const auto& one) { transcript(one); });
    if (asking)
      return;
    asking = true;
    std::promise<int> answer;
    std::future<int> there = answer.get_future();
    std::thread([promise = std::move(answer)]() mutable {
      promise.set_value(omp_target_is_present(values, 0));
    }).detach();
    if (there.wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
      std::puts("something is locked");
      std::exit(1);
    }
    asking = false;
  }
  Transcript transcript;

private:
  std::atomic<bool> asking{false};
};

} // namespace

SCENARIO_OF(report_all) {
  static Narrow listener;
  subscribe(listener);
  std::ifstream file(TEST_FOLDER "/image_main.so", std::ios::binary);
  std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  char name[] = "add_one";
  __tgt_offload_entry entry{&add_one, name, 0};
  __tgt_device_image record{image.data(), image.data() + image.size(), &entry, &entry + 1};
  __tgt_bin_desc descriptor{1, &record, &entry, &entry + 1};
  omptarget_register_lib(&descriptor);

  void* base[] = {values, reinterpret_cast<void*>(4)};
  void* begin[] = {values, nullptr};
  std::int64_t size[] = {sizeof values, 0};
  std::int32_t type[] = {OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF,
                         OMP_TGT_MAPTYPE_PRIVATE_VAL};
  __tgt_target_data_begin(0, 1, base, begin, size, type);
  const std::int32_t result = __tgt_target(0, &add_one, 2, base, begin, size, type);
  std::int32_t from[] = {OMP_TGT_MAPTYPE_FROM};
  __tgt_target_data_update(0, 1, base, begin, size, from);
  __tgt_target_data_end(0, 1, base, begin, size, type);
  __tgt_target(0, &unknown, 1, base, begin, size, type);
  omptarget_unregister_lib(&descriptor);
  unsubscribe(listener);
  std::fputs(listener.transcript.text.str().c_str(), stdout);
  return result != 0 || values[3] != 5;
}

TEST_CASE("calls are reported with what they do, and no lock is held") {
  const Outcome outcome = run_scenario(
      "report_all", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/..", "OMPTOOL_QUIET=1", "OMPTOOL_HOST_QUEUES=0"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "device 0 ready\n"
                          "image loaded\n"
                          "begins __tgt_target_data_begin device 0\n"
                          "allocate 16\n"
                          "mapped size 16 count 1 fresh\n"
                          "copied in 16\n"
                          "to 16\n"
                          "ends __tgt_target_data_begin\n"
                          "begins __tgt_target device 0\n"
                          "mapped size 16 count 2 size 0\n"
                          "launch add_one\n"
                          "released size 16 count 1 size 0\n"
                          "ends __tgt_target\n"
                          "begins __tgt_target_data_update device 0\n"
                          "updated size 16 count 1\n"
                          "copied out 16\n"
                          "from 16\n"
                          "ends __tgt_target_data_update\n"
                          "begins __tgt_target_data_end device 0\n"
                          "released size 16 count 0 leaving\n"
                          "copied out 16\n"
                          "from 16\n"
                          "free 0\n"
                          "ends __tgt_target_data_end\n"
                          "begins __tgt_target device 0\n"
                          "fell back: no registered library lists it\n"
                          "ends __tgt_target\n");
}

TEST_CASE("operations on a queue are reported when they have ended, after one wait") {
  const Outcome outcome = run_scenario(
      "report_all", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/..", "OMPTOOL_QUIET=1", "OMPTOOL_HOST_QUEUES=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "device 0 ready\n"
                          "image loaded\n"
                          "begins __tgt_target_data_begin device 0\n"
                          "allocate 16\n"
                          "mapped size 16 count 1 fresh\n"
                          "copied in 16\n"
                          "wait 0\n"
                          "to 16\n"
                          "ends __tgt_target_data_begin\n"
                          "begins __tgt_target device 0\n"
                          "mapped size 16 count 2 size 0\n"
                          "released size 16 count 1 size 0\n"
                          "wait 0\n"
                          "launch add_one\n"
                          "ends __tgt_target\n"
                          "begins __tgt_target_data_update device 0\n"
                          "updated size 16 count 1\n"
                          "copied out 16\n"
                          "wait 0\n"
                          "from 16\n"
                          "ends __tgt_target_data_update\n"
                          "begins __tgt_target_data_end device 0\n"
                          "released size 16 count 0 leaving\n"
                          "copied out 16\n"
                          "wait 0\n"
                          "from 16\n"
                          "free 0\n"
                          "ends __tgt_target_data_end\n"
                          "begins __tgt_target device 0\n"
                          "fell back: no registered library lists it\n"
                          "ends __tgt_target\n");
}
