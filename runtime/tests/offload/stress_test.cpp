// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every call of both ABIs from many threads at once, on objects of their own and on shared ones, while
// libraries come and go, the process forks, or it exits. ThreadSanitizer watches the runtime; the sums
// and counts at the end say whether a call was lost or done twice.
#include "llvm_calls.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <functional>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm_abi;

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 150;
constexpr int kShared = 3;
constexpr long kItems = 16;

// The host's side of images/stress.c.
char count_call, count_by, add_shared, add_table, scale_items, missing, not_in_image;
long calls;
long by_worker[kThreads];
int scale = 3;

struct Vector {
  long count;
  int* items;
};

std::vector<Program::Entry> stress_entries() {
  return {{&count_by, "count_by"},       {&not_in_image, "not_in_image"}, {&by_worker, "by_worker", sizeof by_worker},
          {&count_call, "count_call"},   {&add_shared, "add_shared"},     {&add_table, "add_table"},
          {&scale_items, "scale_items"}, {&calls, "calls", sizeof calls}, {&scale, "scale", sizeof scale}};
}

void use_stress() {
  static auto& library = *new Library<Record56>(image_file("stress"), stress_entries());
  static_cast<void>(library);
  static auto& lacking = *new Library<Record32>(image_file("other"), {{&missing, "missing"}});
  static_cast<void>(lacking);
}

// The objects that the threads have in common. Mapped by the main thread before and after.
struct Shared {
  long table[kShared][kItems];
  long sum[kShared];
  std::atomic<long> added[kShared];
  std::atomic<long> counted{0};
  std::atomic<long> counted_by[kThreads]{};
  std::atomic<long> wrong{0};
};
Shared shared;

void expect(bool holds, const char* what) {
  if (!holds && ++shared.wrong < 10)
    std::fprintf(stderr, "not so: %s\n", what);
}

// Clang generates this for `declare mapper(Vector v) map(v, v.items[0:v.count])`.
__attribute__((no_sanitize("undefined"))) void map_vector(void* handle, void* base, void* begin, std::int64_t size,
                                                          std::int64_t type, void*) {
  using Push = void (*)(void*, void*, void*, std::int64_t, std::int64_t, void*);
  using Count = std::int64_t (*)(void*);
  static const Push push = reinterpret_cast<Push>(versioned("__tgt_push_mapper_component"));
  static const Count count = reinterpret_cast<Count>(versioned("__tgt_mapper_num_components"));
  auto* const vector = static_cast<Vector*>(begin);
  const std::int64_t moves = type & (kTofrom | kDelete);
  const std::int64_t member = (count(handle) + 1) * kMemberOfFirst;
  push(handle, base, begin, size, type & kDelete, nullptr);
  push(handle, base, begin, size, moves | member, nullptr);
  push(handle, &vector->items, vector->items, vector->count * std::int64_t{sizeof(int)},
       moves | kPointerAndObject | member, nullptr);
}

class Worker {
public:
  explicit Worker(unsigned number) : number_(number), random_(number + 1) {}

  void step() { step(std::size(kSteps)); }
  // On objects of its own: regions that run on the host because the program ends are still on their own.
  void own_step() { step(kOwn); }

private:
  void step(std::size_t kinds) { (this->*kSteps[random_() % kinds])(); }
  std::size_t any() { return random_() % kShared; }

  void own_region() {
    long own[kItems] = {1, 2}, table[kItems] = {10, 20};
    const bool nowait = random_() % 2;
    expect(launch(&add_table, {element(own, kTofrom | kParameter), element(table, kTo | kParameter), literal(kItems)},
                  1, nowait ? "__tgt_target_kernel_nowait" : "__tgt_target_kernel") == 0,
           "an own region runs on the device");
    expect(own[0] == 11 && own[1] == 22 && own[2] == 0, "an own region's result");
  }

  void own_data() {
    long own[kItems] = {}, table[kItems] = {};
    own[3] = 1;
    table[3] = 5;
    data("__tgt_target_data_begin_mapper", {element(own, kTo), element(table, kTo)});
    expect(launch(&add_table, region(own, table)) == 0, "a region in own data runs on the device");
    table[3] = 7;
    data("__tgt_target_data_update_mapper", {element(table, kTo)});
    expect(launch(&add_table, region(own, table)) == 0, "a second region in own data runs on the device");
    data("__tgt_target_data_update_nowait_mapper", {element(own, kFrom)});
    expect(own[3] == 13, "updates go both ways");
    data("__tgt_target_data_end_mapper", {element(own, kFrom), element(table, kDelete)});
    expect(!omp_target_is_present(own, 0) && !omp_target_is_present(table, 0), "own data goes");
  }

  void shared_table() {
    auto& table = shared.table[any()];
    data("__tgt_target_data_begin_mapper", {element(table, kTo)});
    long own[kItems] = {};
    expect(launch(&add_table, region(own, table)) == 0, "a region on a shared table runs on the device");
    expect(own[0] == table[0] && own[kItems - 1] == table[kItems - 1], "a shared table's values");
    expect(omp_target_is_present(&table[2], 0), "what this thread has mapped is present");
    data("__tgt_target_data_end_mapper", {element(table, 0)});
  }

  void shared_sum() {
    const std::size_t which = any();
    const long amount = static_cast<long>(random_() % 100);
    expect(launch(&add_shared, {element(shared.sum[which], kTofrom | kParameter),
                                literal(static_cast<std::uintptr_t>(amount))}) == 0,
           "a region on a shared sum runs on the device");
    shared.added[which] += amount;
  }

  void global() {
    expect(launch(&count_call, {}) == 0, "a region on a global runs on the device");
    ++shared.counted;
  }

  void mapper() {
    int items[3] = {1, 2, 3};
    Vector vector{3, items};
    Element whole = element(vector, kTofrom | kParameter);
    whole.mapper = reinterpret_cast<void*>(map_vector);
    expect(launch(&scale_items, {whole}) == 0, "a region with a mapper runs on the device");
    expect(items[0] == 3 && items[2] == 9 && vector.items == items, "a mapper's result");
    expect(!omp_target_is_present(items, 0), "what a mapper maps goes");
  }

  void attached() {
    int items[2] = {1, 2};
    Vector vector{2, items};
    expect(launch(&scale_items, {element(vector, kTofrom | kParameter),
                                 element(items, kTofrom),
                                 {&vector.items, items, sizeof(void*), kAttach}}) == 0,
           "a region with an attached pointer runs on the device");
    expect(items[1] == 6 && vector.items == items, "an attached pointer's result");
  }

  void held() {
    auto& table = shared.table[any()];
    data("__tgt_target_data_begin_mapper", {element(table, kTo | kHold)});
    const std::vector<void*> base =
        data("__tgt_target_data_begin_mapper", {{table, table, sizeof table, kTo | kReturn}});
    long seen = 0;
    expect(base[0] != table, "use_device_ptr");
    expect(omp_target_memcpy(&seen, base[0], sizeof seen, 0, sizeof seen, omp_get_initial_device(), 0) == 0,
           "a copy from a shared object");
    expect(seen == table[1], "a shared object's value");
    data("__tgt_target_data_end_mapper", {{base[0], table, sizeof table, kReturn}});
    data("__tgt_target_data_end_mapper", {element(table, kHold)});
  }

  void document() {
    long own[kItems] = {1}, table[kItems] = {100};
    Rows rows{row(own, TOFROM | REF), row(table, TO | REF), value(kItems)};
    if (random_() % 2)
      expect(rows.region(&add_table) == 0, "a region of the document's ABI runs on the device");
    else
      expect(rows.teams(&add_table, 1, 1) == 0, "a team region of the document's ABI runs on the device");
    expect(own[0] == 101, "the result of a region of the document's ABI");
  }

  void routines() {
    const int host = omp_get_initial_device();
    expect(omp_get_num_devices() == 1 && host == 1, "the number of devices");
    int there[4] = {1, 2, 3, 4}, back[4] = {};
    void* const memory = omp_target_alloc(sizeof there, 0);
    expect(omp_target_memcpy(memory, there, sizeof there, 0, 0, 0, host) == 0 &&
               omp_target_memcpy(back, memory, sizeof back, 0, 0, host, 0) == 0,
           "copies to allocated memory and back");
    expect(back[3] == 4, "what was copied");
    omp_target_free(memory, 0);
    omp_set_default_device(0); // of this thread
    expect(omp_get_default_device() == 0, "the default device");
  }

  void associated() {
    long own = 5;
    void* const memory = omp_target_alloc(sizeof own, 0);
    expect(omp_target_associate_ptr(&own, memory, sizeof own, 0, 0) == 0, "a pointer is associated");
    data("__tgt_target_data_update_mapper", {element(own, kTo)});
    expect(launch(&add_shared, {element(own, kTofrom | kParameter), literal(2)}) == 0,
           "a region on associated memory runs on the device");
    data("__tgt_target_data_update_mapper", {element(own, kFrom)});
    expect(own == 7, "associated memory's value");
    expect(omp_target_disassociate_ptr(&own, 0) == 0, "a pointer is disassociated");
    omp_target_free(memory, 0);
  }

  // On data of its own, so that the host version and other threads' regions do not meet.
  void falls_back() {
    long own[kItems] = {}, table[kItems] = {};
    table[1] = 4;
    data("__tgt_target_data_begin_mapper", {element(own, kTofrom), element(table, kTo)});
    expect(launch(&add_table, region(own, table)) == 0, "the region before a fallback runs on the device");
    expect(launch(&missing, region(own, table)) != 0, "a region that its image lacks falls back");
    expect(own[1] == 4, "a fallback's data");
    own[1] += 10;
    expect(launch(&add_table, region(own, table)) == 0, "the region after a fallback runs on the device");
    data("__tgt_target_data_end_mapper", {element(own, kTofrom), element(table, kTo)});
    expect(own[1] == 18, "the result after a fallback");
  }

  // A region of a library whose variables other threads' regions use meanwhile, each its own part: by
  // turns on the device and on the host, where it comes late.
  void anywhere() {
    expect(launch(&count_by, {literal(number_)}) == 0, "a region on a thread's own part runs on the device");
    expect(launch(&not_in_image, {}) != 0, "a region that its image lacks falls back");
    std::this_thread::yield();
    count_on_host(by_worker[number_]);
    shared.counted_by[number_] += 2;
  }
  // The runtime reads it meanwhile, as it may: that is not for ThreadSanitizer.
  __attribute__((no_sanitize("thread"), noinline)) static void count_on_host(long& part) { ++part; }

  static std::vector<Element> region(long (&own)[kItems], long (&table)[kItems]) {
    return {element(own, kTofrom | kParameter), element(table, kTo | kParameter), literal(kItems)};
  }

  static constexpr void (Worker::* kSteps[])() = {
      &Worker::own_region, &Worker::own_data, &Worker::mapper,     &Worker::document,     &Worker::routines,
      &Worker::falls_back, &Worker::attached, &Worker::associated, &Worker::shared_table, &Worker::shared_sum,
      &Worker::global,     &Worker::held,     &Worker::anywhere,
  };
  static constexpr std::size_t kOwn = 8; // of them
  const unsigned number_;
  std::minstd_rand random_;
};

void start() {
  use_stress();
  for (int i = 0; i < kShared; ++i) {
    for (long k = 0; k < kItems; ++k)
      shared.table[i][k] = 100 * i + k;
    data("__tgt_target_data_begin_mapper", {element(shared.sum[i], kTo)});
  }
}

// Nothing that came in shares is left, and no launch was lost or done twice.
int finish() {
  for (int i = 0; i < kShared; ++i) {
    EXPECT(!omp_target_is_present(shared.table[i], 0));
    EXPECT(omp_target_is_present(&shared.sum[i], 0));
    data("__tgt_target_data_end_mapper", {element(shared.sum[i], kFrom)});
    EXPECT(!omp_target_is_present(&shared.sum[i], 0));
    EXPECT(shared.sum[i] == shared.added[i]);
  }
  data("__tgt_target_data_update_mapper", {element(calls, kFrom)});
  EXPECT(calls == shared.counted);
  EXPECT(launch(&count_by, {literal(0)}) == 0); // takes what host versions wrote
  ++shared.counted_by[0];
  data("__tgt_target_data_update_mapper", {element(by_worker, kFrom)});
  for (int i = 0; i < kThreads; ++i)
    EXPECT(by_worker[i] == shared.counted_by[i]);
  EXPECT(shared.wrong == 0);
  return 0;
}

std::vector<std::thread> workers(std::function<bool(int)> more) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([i, more] {
      Worker worker(i);
      for (int round = 0; more(round); ++round)
        worker.step();
    });
  return threads;
}

void join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads)
    thread.join();
}

void check(const char* scenario) {
  const Outcome outcome = run_scenario(scenario, {"OMPTOOL_QUIET=1"});
  INFO(scenario << ": " << outcome.output);
  CHECK(outcome.signal == 0);
  CHECK(outcome.code == 0);
}

} // namespace

SCENARIO_OF(stress_calls) {
  end_after(120);
  start();
  std::vector<std::thread> threads = workers([](int round) { return round < kRounds; });
  join(threads);
  return finish();
}

TEST_CASE("every call from many threads, from the first use of the device on") {
  check("stress_calls");
}

namespace {

// A library that comes and goes while another thread launches its region.
void come_and_go(const std::atomic<bool>& done) {
  char other_add_hundred;
  int counter = 0;
  const auto run = [&](int& value) { return launch(&other_add_hundred, {element(value, kTofrom | kParameter)}) == 0; };
  std::thread launches([&] {
    while (!done) {
      int value = 1;
      const bool ran = run(value);
      expect(value == (ran ? 101 : 1), "a region of a library that goes runs once or not at all");
    }
  });
  while (!done) {
    const Library<Record32> library(image_file("other"),
                                    {{&other_add_hundred, "other_add_hundred"}, {&counter, "counter", sizeof counter}});
    for (int i = 0; i < 5; ++i) {
      int value = 1;
      expect(run(value) && value == 101, "a library that is there runs its region");
    }
    expect(omp_target_is_present(&counter, 0), "the variable of a library that is there is present");
  }
  launches.join();
  expect(!omp_target_is_present(&counter, 0), "the variable of a library goes with it");
}

} // namespace

SCENARIO_OF(stress_libraries) {
  end_after(120);
  start();
  std::atomic<bool> done{false};
  std::thread first([&] { come_and_go(done); }), second([&] { come_and_go(done); });
  std::vector<std::thread> threads = workers([](int round) { return round < kRounds; });
  join(threads);
  done = true;
  first.join();
  second.join();
  return finish();
}

TEST_CASE("libraries come and go while other threads launch") {
  check("stress_libraries");
}

SCENARIO_OF(stress_fork) {
  end_after(120);
  start();
  // Each call has looked for libomp once: a child would wait for ever for the lock of ThreadSanitizer's own dlopen.
  Worker first(0);
  for (int round = 0; round < kRounds; ++round)
    first.step();
  std::atomic<bool> done{false};
  std::vector<std::thread> threads = workers([&](int) { return !done; });
  bool fine = true;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      end_after(60); // it has not its parent's
      long own = 1;
      const std::vector<Element> arguments{element(own, kTofrom | kParameter), literal(1)};
      bool right = launch(&add_shared, arguments) != 0 && own == 1;
      data("__tgt_target_data_end_mapper", {element(shared.sum, kFrom)});
      const Library<Record56> anew(image_file("stress"), stress_entries());
      right = right && launch(&add_shared, arguments) == 0 && own == 2;
      ::_exit(right ? 0 : 1); // without what LeakSanitizer would say of the parent's threads
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    fine = fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  done = true;
  join(threads);
  EXPECT(fine);
  return finish();
}

TEST_CASE("a process forks while its threads make every call") {
  check("stress_fork");
}

// Each region on an object of its own needs memory that the device does not always have; the regions
// that count on a variable of the device need none.
SCENARIO_OF(stress_memory) {
  end_after(120);
  use_stress();
  std::atomic<bool> done{false};
  std::thread counting([&] {
    while (!done) {
      expect(launch(&count_call, {}) == 0, "a region on a global runs on the device");
      ++shared.counted;
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 10 * kRounds; ++round) {
        long own = 1;
        if (launch(&add_shared, {element(own, kTofrom | kParameter), literal(2)}) != 0)
          own += 2;
        expect(own == 3, "a region's result, wherever it ran");
      }
    });
  join(threads);
  done = true;
  counting.join();
  data("__tgt_target_data_update_mapper", {element(calls, kFrom)});
  EXPECT(calls == shared.counted);
  EXPECT(shared.wrong == 0);
  return 0;
}

TEST_CASE("regions fall back for lack of memory while other threads launch") {
  const Outcome outcome =
      run_scenario("stress_memory", {"OMPTOOL_QUIET=1", "OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail",
                                     "OMPTOOL_PLUGINS=fakefail", "FAKEFAIL_EVERY=3", "FAKEFAIL_IN=data_alloc"});
  INFO(outcome.output);
  CHECK(outcome.signal == 0);
  CHECK(outcome.code == 0);
}

SCENARIO_OF(stress_exit) {
  static auto* library = new Library<Record32>(image_file("stress"), stress_entries());
  std::atexit([] { delete library; });
  std::atomic<int> running{0};
  for (unsigned i = 0; i < kThreads; ++i)
    std::thread([i, &running] {
      Worker worker(i);
      for (;;) {
        worker.own_step(); // what it expects does not hold while the program ends
        ++running;
      }
    }).detach();
  while (running < 100)
    ::usleep(1000);
  ::exit(0); // the counter stays: main() does not return
}

TEST_CASE("a program exits while its threads make every call") {
  for (int round = 0; round < 5; ++round)
    check("stress_exit");
}
