// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that waits for other work gets threads, up to the number; no more than that run at once.
#include "workers.h"

#include "scenario.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <doctest/doctest.h>
#include <latch>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

using omptool::Workers;

namespace {

// One that lasts: threads may still be inside when the test goes on.
template <typename T> T& lasting(auto... arguments) {
  static std::vector<std::shared_ptr<void>>& all = *new std::vector<std::shared_ptr<void>>;
  const auto made = std::make_shared<T>(arguments...);
  all.push_back(made);
  return *made;
}

} // namespace

TEST_CASE("as many run at once as the number says, each on a thread of its own") {
  constexpr unsigned kMost = 64;
  Workers& workers = lasting<Workers>(kMost);
  for (int round = 0; round < 3; ++round) {
    auto& all_started = lasting<std::barrier<>>(std::ptrdiff_t{kMost});
    auto& ended = lasting<std::latch>(std::ptrdiff_t{kMost});
    std::mutex mutex;
    std::set<std::thread::id> threads;
    for (unsigned i = 0; i < kMost; ++i)
      workers.run([&] {
        {
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        all_started.arrive_and_wait();
        ended.count_down();
      });
    ended.wait();
    CHECK(threads.size() == kMost);
  }
}

TEST_CASE("what is too much waits for its turn, in order") {
  constexpr unsigned kMost = 3;
  constexpr int kAll = 500;
  Workers& workers = lasting<Workers>(kMost);
  auto& ended = lasting<std::latch>(std::ptrdiff_t{kAll});
  std::atomic<unsigned> running{0}, most{0};
  for (int i = 0; i < kAll; ++i)
    workers.run([&] {
      const unsigned now = ++running;
      unsigned seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      --running;
      ended.count_down();
    });
  ended.wait();
  CHECK(most >= 1);
  CHECK(most <= kMost);

  Workers& one = lasting<Workers>(1u);
  auto& in_order = lasting<std::latch>(std::ptrdiff_t{kAll});
  std::vector<int> order;
  for (int i = 0; i < kAll; ++i)
    one.run([&, i] {
      order.push_back(i);
      in_order.count_down();
    });
  in_order.wait();
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("where few begin at once, others begin when something has waited") {
  constexpr unsigned kMost = 12, kAtOnce = 2;
  Workers& workers = lasting<Workers>(kMost, kAtOnce);
  for (int round = 0; round < 3; ++round) {
    auto& all_started = lasting<std::barrier<>>(std::ptrdiff_t{kMost});
    auto& ended = lasting<std::latch>(std::ptrdiff_t{kMost});
    for (unsigned i = 0; i < kMost; ++i)
      workers.run([&] {
        all_started.arrive_and_wait();
        ended.count_down();
      });
    ended.wait();
    CHECK(ended.try_wait());
  }

  Workers& few = lasting<Workers>(1u, kAtOnce);
  auto& done = lasting<std::latch>(std::ptrdiff_t{2});
  few.run([&] { few.run([&] { done.count_down(); }), done.count_down(); });
  done.wait();
  CHECK(done.try_wait());
}

TEST_CASE("a thread of these knows it, and others know that they are none") {
  Workers &workers = lasting<Workers>(1u), &others = lasting<Workers>(1u);
  auto& done = lasting<std::latch>(std::ptrdiff_t{1});
  bool is_here = false, is_there = true;
  workers.run([&] {
    is_here = workers.here();
    is_there = others.here();
    done.count_down();
  });
  done.wait();
  CHECK(is_here);
  CHECK_FALSE(is_there);
  CHECK_FALSE(workers.here());
}

TEST_CASE("work may hand out work, from several threads, and all of it is done") {
  constexpr int kThreads = 4, kEach = 200, kFurther = 3;
  Workers& workers = lasting<Workers>(8u);
  auto& ended = lasting<std::latch>(std::ptrdiff_t{kThreads * kEach * (1 + kFurther)});
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        workers.run([&] {
          for (int further = 0; further < kFurther; ++further)
            workers.run([&] { ended.count_down(); });
          ended.count_down();
        });
    });
  for (std::thread& thread : threads)
    thread.join();
  ended.wait();
  CHECK(ended.try_wait());
}

TEST_CASE("what work holds goes when it has ended, and may hand out more") {
  Workers& workers = lasting<Workers>(1u);
  auto& ended = lasting<std::latch>(std::ptrdiff_t{1});
  struct Last {
    Workers& workers;
    std::latch& ended;
    ~Last() {
      workers.run([&latch = ended] { latch.count_down(); });
    }
  };
  workers.run([last = std::make_shared<Last>(workers, ended)] { static_cast<void>(last); });
  ended.wait();
  CHECK(ended.try_wait());
}

TEST_CASE("threads end and are gone, one at work is left after a while, and later work is the caller's") {
  static std::atomic<int> gone{0};
  struct Last {
    ~Last() { ++gone; }
  };
  Workers& workers = lasting<Workers>(3u);
  auto& all_started = lasting<std::barrier<>>(std::ptrdiff_t{3});
  auto& may_end = lasting<std::latch>(std::ptrdiff_t{1});
  auto& ended = lasting<std::latch>(std::ptrdiff_t{1});
  for (int i = 0; i < 3; ++i)
    workers.run([&, i] {
      thread_local Last last;
      static_cast<void>(last);
      all_started.arrive_and_wait();
      if (i == 0) {
        may_end.wait();
        ended.count_down();
      }
    });
  workers.end();
  CHECK(gone == 2);
  std::thread::id by;
  workers.run([&] { by = std::this_thread::get_id(); });
  CHECK(by == std::this_thread::get_id());
  may_end.count_down();
  ended.wait();
}

SCENARIO_OF(no_threads) {
  pthread_attr_t large; // no machine has room for such a stack
  EXPECT(::pthread_attr_init(&large) == 0);
  EXPECT(::pthread_attr_setstacksize(&large, std::size_t{1} << 50) == 0);
  EXPECT(::pthread_setattr_default_np(&large) == 0);
  bool done = false;
  lasting<Workers>(4u).run([&] { done = true; });
  EXPECT(done);
  return 0;
}

TEST_CASE("without a thread, work is done by the caller") {
  const Outcome outcome = run_scenario("no_threads");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}
