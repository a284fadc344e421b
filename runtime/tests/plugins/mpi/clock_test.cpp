// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of workers by the clock of their program, where the two clocks differ, part and jump.
#include "mpi/transport/clock.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace omptool::mpi;

namespace {

constexpr std::int64_t kMicrosecond = 1000, kSecond = 1'000'000'000;

// A worker whose clock shows `ahead` more than the program's, and `faster` nanoseconds more in each of the program's
// seconds.
struct Worker {
  std::int64_t ahead = 0, faster = 0;
  WorkersClock clock = {};
  std::minstd_rand random{1};
  std::int64_t time = 5 * kSecond; // the program's

  std::int64_t there(std::int64_t here) const { return here + ahead + faster * (here / kMicrosecond) / 1'000'000; }
  std::int64_t some(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution(least, most)(random);
  }
  // Does an operation, with messages that take `least` or up to `most`. Returns by how much its times are wrong.
  std::int64_t error(std::int64_t least, std::int64_t most) {
    const std::int64_t sent = time, began = sent + some(least, most), ended = began + some(0, 100 * kMicrosecond);
    const std::int64_t arrived = time = ended + some(least, most);
    const Span found = clock.translate({there(began), there(ended)}, sent, arrived);
    CHECK(found.began >= sent);
    CHECK(found.ended <= arrived);
    CHECK(found.began <= found.ended);
    time += some(0, 1000 * kMicrosecond);
    return std::max(std::abs(found.began - began), std::abs(found.ended - ended));
  }
};

} // namespace

TEST_CASE("times are right to some microseconds, whatever the clocks show") {
  for (const std::int64_t ahead : {std::int64_t{0}, -4 * kSecond, 3000 * kSecond, 365 * 86400 * kSecond}) {
    Worker worker{ahead};
    worker.error(3 * kMicrosecond, 3 * kMicrosecond); // the others' messages mostly take longer
    for (int round = 0; round < 1000; ++round)
      CHECK(worker.error(3 * kMicrosecond, 500 * kMicrosecond) <= 20 * kMicrosecond);
  }
}

TEST_CASE("clocks may part") {
  for (const std::int64_t faster : {-90 * kMicrosecond, 90 * kMicrosecond}) {
    Worker worker{kSecond, faster};
    std::vector<std::int64_t> errors;
    for (int round = 0; round < 20000; ++round) // ten seconds
      errors.push_back(worker.error(3 * kMicrosecond, 50 * kMicrosecond));
    CHECK(*std::max_element(errors.begin() + 100, errors.end()) <= 30 * kMicrosecond);
  }
}

TEST_CASE("a clock that jumps is known again by the next answer") {
  Worker worker{kSecond};
  for (int round = 0; round < 10; ++round)
    worker.error(kMicrosecond, 2 * kMicrosecond);
  worker.ahead -= kSecond / 2;
  CHECK(worker.error(kMicrosecond, 2 * kMicrosecond) <= 4 * kMicrosecond);
  worker.ahead += kSecond;
  CHECK(worker.error(kMicrosecond, 2 * kMicrosecond) <= 4 * kMicrosecond);
}

TEST_CASE("what cannot be stays within the question and its answer") {
  for (const Span there : {Span{0, kLatest}, Span{kLatest, kLatest}, Span{0, 0}, Span{1, 2}}) {
    WorkersClock clock;
    for (int round = 0; round < 3; ++round) {
      const std::int64_t sent = kSecond, arrived = sent + kMicrosecond;
      const Span found = clock.translate(there, sent, arrived);
      CHECK(found.began >= sent);
      CHECK(found.ended <= arrived);
      CHECK(found.began <= found.ended);
    }
  }
}
