// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of asynchronous and synchronous calls, from eight threads on two devices: what they compute is what
// the same calls compute one after another. OMPTOOL_STRESS_PROGRAMS says how many, from OMPTOOL_STRESS_SEED on.
#include "support.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

constexpr int kThreads = 8;
constexpr int kDevices = 2;
constexpr int kShared = 4; // objects that all threads use, on each device
constexpr int kSteps = 8;  // of each thread

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}

Row bits(long number) {
  return value(static_cast<std::uintptr_t>(number));
}

// Two updates without an event between them write the same bytes to the host, which ThreadSanitizer takes for a race;
// so do two devices where regions fall back, which bring the library's variables.
#ifdef SANITIZED
constexpr bool kUpdates = false;
constexpr int kFallingBack = 1;
#else
constexpr bool kUpdates = true;
constexpr int kFallingBack = kDevices;
#endif

// The values that a program computes. Additions to shared objects commute; events order the operations of a thread on
// its own objects, whatever the devices.
struct Objects {
  std::array<std::array<long, kShared>, kDevices> shared{};
  std::array<long, kThreads> own{};
  bool operator==(const Objects&) const = default;
};

class Worker {
public:
  Worker(unsigned seed, int number, Objects& real, Objects& model, std::atomic<long>& refused)
      : random_(seed * kThreads + static_cast<unsigned>(number)), own_(real.own[static_cast<std::size_t>(number)]),
        own_model_(model.own[static_cast<std::size_t>(number)]), real_(real), model_(model), refused_(refused) {}

  void run() {
    for (int i = 0; i < kSteps; ++i)
      step();
    while (!events_.empty())
      release_one();
    __tgt_release_dep(own_event_);
  }

private:
  unsigned any(unsigned count) { return static_cast<unsigned>(random_() % count); }

  void step() {
    switch (any(7)) {
    case 0:
      return add(false);
    case 1:
    case 2:
      return add(true);
    case 3:
      return in_data();
    case 4:
      return change_own(true);
    case 5:
      return change_own_on_host();
    default:
      return any(4) == 0 ? release_one() : change_own(false);
    }
  }

  // Two objects of one device, in either order.
  void add(bool later) {
    const unsigned device = any(kDevices), one = any(kShared), other = (one + 1 + any(kShared - 1)) % kShared;
    const long amount = 1 + any(100);
    auto& objects = real_.shared[device];
    Rows rows{row(objects[one], TOFROM | REF), row(objects[other], TOFROM | REF), bits(amount)};
    if (later)
      keep(rows.region_later(&host::add_both, some_events(), static_cast<int>(device)));
    else if (rows.region(&host::add_both, static_cast<int>(device)) != 0)
      ++refused_;
    count(model_.shared[device][one], amount);
    count(model_.shared[device][other], amount);
  }

  // The same within data of its own, which others map, too.
  void in_data() {
    const unsigned device = any(kDevices), one = any(kShared), other = (one + 1 + any(kShared - 1)) % kShared;
    const long amount = 1 + any(100);
    const int number = static_cast<int>(device);
    auto& objects = real_.shared[device];
    Rows data{row(objects[one], TOFROM | REF), row(objects[other], TOFROM | REF)};
    Rows region{row(objects[other], TOFROM | REF), row(objects[one], TOFROM | REF), bits(amount)};
    tgt_event_t last = nullptr;
    if (any(2))
      keep(last = data.begin_later(some_events(), number));
    else
      data.begin(number);
    keep(last = region.region_later(&host::add_both, {last}, number));
    if (any(2) && kUpdates)
      keep(last = Rows{row(objects[one], FROM)}.update_later({last}, number));
    if (any(2))
      keep(data.end_later({last}, number));
    else
      data.end(number);
    count(model_.shared[device][one], amount);
    count(model_.shared[device][other], amount);
  }

  void change_own(bool later) {
    const long factor = 1 + any(3), amount = any(100);
    const int device = static_cast<int>(any(kDevices));
    Rows rows{row(own_, TOFROM | REF), bits(factor), bits(amount)};
    if (!later) { // on another device it would come before what has not been copied back
      wait_for(own_event_);
      if (rows.region(&host::times_plus, device) != 0)
        ++refused_;
    } else {
      own_event_ = rows.region_later(&host::times_plus, {own_event_}, device);
      keep(own_event_);
    }
    own_model_ = static_cast<long>(static_cast<unsigned long>(own_model_) * static_cast<unsigned long>(factor) +
                                   static_cast<unsigned long>(amount));
  }

  // A region of this thread's data falls back between two that do not, held back by nothing but what they need.
  void change_own_on_host() {
    const int device = static_cast<int>(any(kFallingBack));
    Rows data{row(own_, TOFROM | REF)}, twice{row(own_, TOFROM | REF), bits(2), bits(0)};
    wait_for(own_event_);
    tgt_event_t last = data.begin_later(some_events(), device);
    keep(last);
    keep(last = twice.region_later(&host::times_plus, {last}, device));
    std::int32_t result = 0;
    if (any(2)) {
      twice.region_later(&host::absent, {last}, device, nullptr, &result);
    } else {
      wait_for(last);
      result = twice.region(&host::absent, device);
    }
    own_ += result != 0; // the host version
    if (any(2))
      keep(last = Rows{row(own_, TO)}.update_later(some_events(), device));
    keep(last = twice.region_later(&host::times_plus, {last}, device));
    if (any(2))
      keep(last = Rows{row(own_, FROM)}.update_later({last}, device));
    keep(own_event_ = data.end_later({last}, device));
    own_model_ = static_cast<long>((static_cast<unsigned long>(own_model_) * 2 + 1) * 2);
  }

  void wait_for(tgt_event_t event) {
    std::atomic<bool> over{false};
    tgt_event_t done = nullptr;
    __tgt_target_async_data_begin(0, 0, &none_, &none_, &no_size_, &no_type_, 1, &event, &done, &over);
    while (!over)
      __tgt_process_dep();
    __tgt_release_dep(done);
  }

  static void count(long& model, long amount) { __atomic_fetch_add(&model, amount, __ATOMIC_RELAXED); }
  void keep(tgt_event_t event) {
    if (!event)
      ++refused_;
    events_.push_back(event);
  }
  std::vector<tgt_event_t> some_events() {
    std::vector<tgt_event_t> some;
    for (unsigned i = any(3); i > 0 && !events_.empty(); --i)
      some.push_back(any(4) == 0 ? nullptr : events_[any(static_cast<unsigned>(events_.size()))]);
    return some;
  }
  void release_one() {
    if (events_.empty())
      return;
    if (events_.back() != own_event_) // which what comes next has to come after
      __tgt_release_dep(events_.back());
    events_.pop_back();
  }

  std::mt19937 random_;
  long& own_;
  long& own_model_;
  Objects& real_;
  Objects& model_;
  std::atomic<long>& refused_;
  std::vector<tgt_event_t> events_;
  tgt_event_t own_event_ = nullptr;
  void* none_ = nullptr;
  std::int64_t no_size_ = 0;
  std::int32_t no_type_ = 0;
};

bool is_right(unsigned seed) {
  static Objects real; // what is outstanding must not outlive it
  real = {};
  Objects model;
  std::atomic<long> refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { Worker(seed, i, real, model, refused).run(); });
  for (std::thread& thread : threads)
    thread.join();
  while (__tgt_process_dep() != 0)
    ;
  if (real == model && refused == 0)
    return true;
  std::fprintf(stderr, "program %u: %ld calls refused\n", seed, refused.load());
  for (std::size_t device = 0; device < kDevices; ++device)
    for (std::size_t i = 0; i < kShared; ++i)
      std::fprintf(stderr, "device %zu object %zu: %ld, not %ld\n", device, i, real.shared[device][i],
                   model.shared[device][i]);
  for (std::size_t i = 0; i < kThreads; ++i)
    std::fprintf(stderr, "own %zu: %ld, not %ld\n", i, real.own[i], model.own[i]);
  return false;
}

} // namespace

SCENARIO_OF(random_asynchronous) {
  constexpr unsigned kSeconds = 240; // longer is for ever
  end_after(kSeconds);
  use_main();
  __tgt_init_dep([](tgt_callback_param_t over) { *static_cast<std::atomic<bool>*>(over) = true; });
  EXPECT(omp_get_num_devices() == kDevices);
#ifdef SANITIZED
  constexpr long kPrograms = 30;
#else
  constexpr long kPrograms = 500;
#endif
  const long first = number_in("OMPTOOL_STRESS_SEED", 0), programs = number_in("OMPTOOL_STRESS_PROGRAMS", kPrograms);
  for (long i = first; i < first + programs; ++i)
    EXPECT(is_right(static_cast<unsigned>(i)));
  return 0;
}

TEST_CASE("random programs of asynchronous and synchronous calls compute what they compute in order") {
  const std::vector<std::string> kWays[] = {
      {"OMPTOOL_HOST_QUEUES=1", "OMPTOOL_HOST_IN_FLIGHT=64"},
      {"OMPTOOL_HOST_QUEUES=1", "OMPTOOL_HOST_IN_FLIGHT=4"},
      {"OMPTOOL_HOST_QUEUES=0"},
      {"OMPTOOL_HOST_QUEUES=0", "OMPTOOL_PLUGINS=fakesync", "OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakesync"},
      {"FAKEWAITS_ENFORCE=0", "OMPTOOL_PLUGINS=fakewaits", "OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakewaits"},
  };
  for (std::vector<std::string> environment : kWays) {
    environment.insert(environment.end(), {"OMPTOOL_HOST_DEVICES=2", "OMPTOOL_QUIET=1"});
    const Outcome outcome = run_scenario("random_asynchronous", environment);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "");
  }
}

TEST_SUITE_END();
