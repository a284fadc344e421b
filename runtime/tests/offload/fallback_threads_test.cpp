// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region's host version runs while other threads launch, fall back and copy: whatever order they come
// in, what each writes arrives. No two of them touch the same element, so no program here has a race.
#include "support.h"

#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <functional>
#include <thread>

namespace {

// A thread whose region falls back, and which stays in its host version until it is told to write there
// and to end.
class FallenBack {
public:
  FallenBack(Rows rows, std::function<void()> late_write)
      : thread_([this, rows, late_write = std::move(late_write)]() mutable {
          fell_back_ = rows.region(&host::absent) != 0;
          state_ = State::kInHostVersion;
          state_.notify_all();
          state_.wait(State::kInHostVersion);
          late_write();
          state_ = State::kWritten;
          state_.notify_all();
          state_.wait(State::kWritten);
          if (then_)
            then_();
        }) {
    state_.wait(State::kStarting);
    CHECK(fell_back_);
  }
  ~FallenBack() {
    if (state_ == State::kInHostVersion)
      write();
    state_ = State::kOver;
    state_.notify_all();
    thread_.join();
  }
  FallenBack(const FallenBack&) = delete;
  FallenBack& operator=(const FallenBack&) = delete;

  void write() {
    state_ = State::kWriting;
    state_.notify_all();
    state_.wait(State::kWriting);
  }
  // When the host version is over.
  void then(std::function<void()> work) { then_ = std::move(work); }

private:
  enum class State { kStarting, kInHostVersion, kWriting, kWritten, kOver };
  std::atomic<State> state_{State::kStarting};
  bool fell_back_ = false;
  std::function<void()> then_;
  std::thread thread_;
};

// A kernel that has begun on a thread of its own, and adds ten when it is told to.
class InFlight {
public:
  explicit InFlight(int& on)
      : thread_([this, &on] {
          ran_ = Rows({row(on, TOFROM | REF), value(address(begun_)), value(address(may_go_on_))})
                     .region(&host::add_ten_later) == 0;
        }) {
    while (begun_ == 0)
      std::this_thread::yield();
  }
  ~InFlight() { finish(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  void finish() {
    if (!thread_.joinable())
      return;
    may_go_on_ = 1;
    thread_.join();
    CHECK(ran_);
  }

private:
  static std::uintptr_t address(std::atomic<int>& flag) { return reinterpret_cast<std::uintptr_t>(&flag); }
  std::atomic<int> begun_{0}, may_go_on_{0};
  bool ran_ = false;
  std::thread thread_;
};

int counter_on_device() {
  int total = 0;
  CHECK(Rows({row(total, TOFROM | REF)}).region(&host::add_counter) == 0);
  return total;
}

void set_counter(int value) {
  host::counter = value;
  Rows{row(host::counter, TO)}.update();
}

} // namespace

TEST_CASE("what a host version writes to a global after another thread's launch reaches the device") {
  use_main();
  set_counter(30);
  int seen = 130;
  {
    FallenBack slow(Rows{}, [] { host::counter += 100; });
    CHECK(Rows{}.region(&host::nothing) == 0);
    SUBCASE("another thread asks, before the host version is known to be over") {
      slow.write();
      CHECK(counter_on_device() == 130);
      CHECK(counter_on_device() == 130);
    }
    SUBCASE("its own thread asks") {
      slow.then([&] { seen = counter_on_device(); });
      slow.write();
    }
    SUBCASE("another region falls back in between") {
      CHECK(Rows{}.region(&host::absent) != 0);
      slow.write();
      CHECK(host::counter == 130);
    }
  }
  CHECK(seen == 130);
  CHECK(counter_on_device() == 130);
  CHECK(host::counter == 130);
  CHECK(counter_on_device() == 130);
  set_counter(5);
}

TEST_CASE("what kernels and a host version write to parts of one object at the same time arrives") {
  use_main();
  int values[3] = {1, 2, 3};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  CHECK(Rows({row(values, TOFROM | REF), value(3)}).region(&host::add_one) == 0); // 2, 3, 4 there
  {
    FallenBack slow(Rows{row(values, TOFROM | REF)}, [&] { values[0] += 100; });
    CHECK(values[0] == 2);
    SUBCASE("launched meanwhile") {
      CHECK(Rows({row(values[1], TOFROM | REF), value(1)}).region(&host::add_ten) == 0);
    }
    SUBCASE("launched meanwhile, and another region falls back") {
      CHECK(Rows({row(values[1], TOFROM | REF), value(1)}).region(&host::add_ten) == 0);
      CHECK(Rows({row(values, TOFROM | REF)}).region(&host::absent) != 0);
      CHECK(values[1] == 13);
    }
    SUBCASE("launched meanwhile, and an update asks for it") {
      CHECK(Rows({row(values[1], TOFROM | REF), value(1)}).region(&host::add_ten) == 0);
      Rows{row(values[1], FROM)}.update();
      CHECK(values[1] == 13);
    }
  }
  CHECK(values[0] == 102);
  SUBCASE("the data ends") {}
  SUBCASE("another region runs") {
    CHECK(Rows({row(values[2], TOFROM | REF), value(1)}).region(&host::add_ten) == 0);
    data.end();
    CHECK(values[2] == 14);
    return;
  }
  data.end();
  CHECK(values[0] == 102);
  CHECK(values[2] == 4);
}

TEST_CASE("a kernel that runs while a region falls back is not forgotten") {
  use_main();
  int values[2] = {1, 2};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  InFlight kernel(values[1]);
  CHECK(Rows({row(values, TOFROM | REF)}).region(&host::absent) != 0);
  values[0] = 50; // the host version
  kernel.finish();
  SUBCASE("the data ends") {}
  SUBCASE("another region falls back") {
    CHECK(Rows({row(values, TOFROM | REF)}).region(&host::absent) != 0);
    CHECK(values[1] == 12);
  }
  SUBCASE("an update asks for it") {
    Rows{row(values, FROM)}.update();
    CHECK(values[1] == 12);
  }
  SUBCASE("a region runs") {
    CHECK(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
    data.end();
    CHECK(values[0] == 51);
    CHECK(values[1] == 13);
    return;
  }
  data.end();
  CHECK(values[0] == 50);
  CHECK(values[1] == 12);
}

TEST_CASE("an update to the device prevails over what a kernel wrote before it") {
  use_main();
  int values[2] = {1, 2};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  InFlight kernel(values[1]);
  CHECK(Rows({row(values, TOFROM | REF)}).region(&host::absent) != 0);
  kernel.finish();
  values[1] = 70;
  SUBCASE("update") {
    Rows{row(values[1], TO)}.update();
  }
  SUBCASE("an ALWAYS row of a region that runs") {
    CHECK(Rows({row(values[1], TO | ALWAYS | REF)}).region(&host::nothing) == 0);
  }
  SUBCASE("an ALWAYS row of a region that falls back") {
    CHECK(Rows({row(values[1], TO | ALWAYS | REF)}).region(&host::absent) != 0);
    CHECK(values[1] == 70);
  }
  CHECK(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
  data.end();
  CHECK(values[0] == 2);
  CHECK(values[1] == 71);
}

TEST_CASE("memory that no kernel has seen is shared between a host version and a kernel") {
  use_main();
  int values[2] = {1, 2};
  Rows data{row(values, FROM | REF)};
  data.begin();
  {
    FallenBack slow(Rows{row(values, TOFROM | REF)}, [&] { values[0] = 100; });
    CHECK(Rows({row(values[1], TOFROM | REF), value(1)}).region(&host::add_ten) == 0);
  }
  data.end();
  CHECK(values[0] == 100);
  CHECK(values[1] == 12);
}

TEST_CASE("what an asynchronous kernel writes after a region fell back arrives at the end of the data") {
  use_main();
  int values[2] = {1, 2};
  std::atomic<int> begun{0}, may_go_on{0};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  const auto bits = [](std::atomic<int>& flag) { return value(reinterpret_cast<std::uintptr_t>(&flag)); };
  __tgt_release_dep(Rows{row(values, TOFROM | REF), bits(begun), bits(may_go_on)}.region_later(&host::add_ten_later));
  while (begun == 0)
    std::this_thread::yield();
  CHECK(Rows({row(values, TOFROM | REF)}).region(&host::absent) != 0);
  values[1] = 20;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // the end has begun
    may_go_on = 1;
  });
  data.end();
  later.join();
  while (__tgt_process_dep() != 0)
    ;
  CHECK(values[0] == 11);
  CHECK(values[1] == 20);
}

TEST_CASE("a host version that is over costs later launches nothing") {
  use_main();
  set_counter(1);
  { // its thread ends
    FallenBack slow(Rows{}, [] { host::counter = 2; });
    CHECK(Rows{}.region(&host::nothing) == 0);
  }
  CHECK(counter_on_device() == 2);
  host::counter = 3; // the host's own now: the two sides are one another's no more
  CHECK(counter_on_device() == 2);
  set_counter(5);
}
