// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the program's side when a worker is lost, or sends a malformed message: its operations fail, those of the
// others continue.
#include "fake_mpi.h"
#include "mpi/queue.h"

#include "common/calls.h"

#include <array>
#include <chrono>
#include <cstring>
#include <doctest/doctest.h>
#include <random>
#include <string>
#include <thread>
#include <utility>

using namespace omptool;
using namespace omptool::mpi;

namespace {

// Job of a program with two workers, which the test plays.
struct Job {
  static constexpr int kOne = 1, kOther = 2;
  plugin::Events events;
  FakeJob job{3};
  FakeMpi* mpi = nullptr;
  Queue queue;

  explicit Job(std::chrono::seconds heartbeat = std::chrono::seconds(0)) : queue(events, session(heartbeat)) {}

  Session session(std::chrono::seconds heartbeat) {
    Session made;
    auto fake = std::make_unique<FakeMpi>(job, kProgram);
    mpi = fake.get();
    made.mpi = std::move(fake);
    made.crew.greetings = {Greeting{"", {1, 2}, {}, "", "node7"}, Greeting{"", {1, 2}, {}, "", "node8"}};
    made.heartbeat = heartbeat;
    made.reason.clear();
    return made;
  }

  tgt_event_t ask(int worker, Operation operation, HostSide host = {}) {
    tgt_event_t event = nullptr;
    REQUIRE(queue.queue(static_cast<std::size_t>(worker), std::move(operation), host, {{}, event}) == 0);
    return event;
  }
  tgt_event_t join(int worker) { return ask(worker, {}); }
  // Tells how the event's operation has ended, or "pending".
  std::string end_of(tgt_event_t event) {
    plugin::Events::Lock lock = events.lock();
    queue.progress(lock);
    const auto found = events.find(event);
    REQUIRE(found);
    return !found->is_done          ? "pending"
           : found->failure.empty() ? "done"
                                    : (found->is_lost ? "lost: " : "") + found->failure;
  }
  // The operations that have come to a worker since it was asked last.
  std::vector<Operation> come(int worker) {
    {
      plugin::Events::Lock lock = events.lock();
      queue.progress(lock);
    }
    std::vector<Operation> all;
    while (std::optional<Message> message = job.take(worker, kControl, kProgram)) {
      kept.push_back(std::move(message->bytes));
      for (Reader reader(kept.back()); !reader.at_end();)
        all.push_back(read_operation(reader));
    }
    return all;
  }
  void answer(int worker, const Answer& answer) {
    Buffer message;
    write(message, answer);
    job.put(worker, kProgram, kAnswers, message);
  }

private:
  std::deque<Buffer> kept; // of operations' spans
};

} // namespace

TEST_CASE("an error of MPI's loses the worker that it is about, and no other") {
  Job job;
  const tgt_event_t mine = job.join(Job::kOne), others = job.join(Job::kOther);
  REQUIRE(job.come(Job::kOther).size() == 1);
  SUBCASE("in sending") {
    job.job.broken = {Job::kOne};
    job.join(Job::kOne);
  }
  SUBCASE("in a probe, where MPI says who has failed") {
    job.job.fails_any = true;
    job.job.known = {Job::kOne};
  }
  SUBCASE("in a probe, where MPI does not say it") {
    job.job.fails_any = true;
    job.job.broken = {Job::kOne};
  }
  CHECK(job.end_of(mine).starts_with("lost: rank 1 on node7 is lost: MPI_"));
  CHECK(job.end_of(others) == "pending");
  CHECK(job.queue.call(Job::kOne, {}) == OMPTARGET_RTL_DEVICE_LOST);
  CHECK(std::string(last_error.data()).starts_with("rank 1 on node7 is lost"));
  tgt_event_t none = nullptr;
  CHECK(job.queue.queue(Job::kOne, {}, {}, {{}, none}) == OMPTARGET_RTL_DEVICE_LOST);
  CHECK(none == nullptr);
  const std::vector<Operation> told = job.come(Job::kOther);
  REQUIRE(told.size() == 1);
  CHECK(told[0].kind == Kind::kForget);
  CHECK(told[0].value == Job::kOne);
  job.answer(Job::kOther, {1});
  CHECK(job.end_of(others) == "done");
  CHECK(job.queue.first_loss().starts_with("rank 1 on node7 is lost"));
}

TEST_CASE("MPI_Finalize is not called after a loss") {
  Job job;
  CHECK(job.queue.can_finalize());
  job.job.fails_any = true;
  job.job.known = {Job::kOne};
  job.come(Job::kOther);
  CHECK(job.queue.first_loss().starts_with("rank 1 on node7 is lost"));
  CHECK_FALSE(job.queue.can_finalize());
}

TEST_CASE("a worker that says what it must not is lost") {
  const auto lost_by = [](const Answer& answer) {
    Job job;
    std::array<std::byte, 64> bytes{};
    const tgt_event_t event = job.ask(Job::kOne, {.kind = Kind::kRetrieve, .size = 64}, {{}, bytes});
    job.answer(Job::kOne, answer);
    const std::string end = job.end_of(event);
    CHECK(job.end_of(job.join(Job::kOther)) == "pending");
    return end;
  };
  const auto is = [](const char* how) { return std::string("lost: rank 1 on node7 is lost: ") + how; };
  const Buffer few(63), more(72), why(8, std::byte{'x'});
  CHECK(lost_by({1, 0, 0, few}) == is("it sends 63 bytes of 64"));
  CHECK(lost_by({1, 0, 0, more}) == is("it sends 72 bytes of 64"));
  CHECK(lost_by({1, 0, 17, {}}) == is("it answers operation 1 with tag 17"));
  CHECK(lost_by({2, 0, 0, {}}) == is("it answers operation 2, which does not wait for that"));
  CHECK(lost_by({0, 1, 0, why}) == is("it has ended: xxxxxxxx"));
  CHECK(lost_by({0, 0, 0, {}}) == "pending"); // a sign of life
  CHECK(lost_by({1, 2, 0, why}) == "xxxxxxxx");
}

TEST_CASE("a large copy of another size, or from a worker that is lost, is written nowhere") {
  Job job;
  std::vector<std::byte> bytes(100'000);
  const tgt_event_t event = job.ask(Job::kOne, {.kind = Kind::kRetrieve, .size = bytes.size()}, {{}, bytes});
  const std::vector<Operation> asked = job.come(Job::kOne);
  REQUIRE(asked.size() == 1);
  REQUIRE(asked[0].tag >= kFirstTag);
  job.answer(Job::kOne, {1, 0, asked[0].tag, {}});
  CHECK(job.end_of(event) == "pending");
  CHECK(job.mpi->waiting() == 1);
  SUBCASE("more bytes") {
    job.job.put(Job::kOne, kProgram, asked[0].tag, Buffer(bytes.size() + 1));
    CHECK(job.end_of(event) == "lost: rank 1 on node7 is lost: a message has 100001 bytes");
  }
  SUBCASE("a loss") {
    job.answer(Job::kOne, {77});
    CHECK(job.end_of(event).starts_with("lost: rank 1"));
  }
  CHECK(job.mpi->waiting() == 0);
}

TEST_CASE("a worker that is silent for a period is lost, and one that answers is not") {
  static Job& job = *new Job(std::chrono::seconds(1)); // its thread looks, too, until the process ends
  const auto begin = std::chrono::steady_clock::now();
  const tgt_event_t silent = job.join(Job::kOne), slow = job.join(Job::kOther);
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2500)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    plugin::Events::Lock lock = job.events.lock();
    job.queue.progress(lock);
    while (std::optional<Message> message = job.job.take(Job::kOther, kControl, kProgram))
      for (Reader reader(message->bytes); !reader.at_end();)
        if (read_operation(reader).kind == Kind::kPing)
          job.answer(Job::kOther, {});
  }
  CHECK(job.end_of(silent) == "lost: rank 1 on node7 does not answer since 1 s");
  CHECK(job.end_of(slow) == "pending");
}

TEST_CASE("a copy between workers ends with the loss of the one that gives") {
  Job job;
  tgt_event_t event = nullptr;
  const plugin::Dependences order{{}, event};
  REQUIRE(job.queue.exchange(Job::kOne, {Kind::kGive}, Job::kOther, {Kind::kSubmit}, &order) == 0);
  REQUIRE(job.come(Job::kOther).size() == 1);
  job.answer(Job::kOne, {77});
  CHECK(job.end_of(event) == "pending"); // until the one that takes has given it up
  job.answer(Job::kOther, {1, 1, 0, std::as_bytes(std::span("it is gone", 10))});
  CHECK(job.end_of(event).starts_with("rank 1 on node7 is lost"));
  CHECK(job.queue.exchange(Job::kOne, {Kind::kGive}, Job::kOther, {Kind::kSubmit}, &order) == 1);
  CHECK(std::string(last_error.data()).starts_with("rank 1 on node7 is lost")); // and the one that takes is not
  CHECK(job.queue.exchange(Job::kOther, {Kind::kGive}, Job::kOne, {Kind::kSubmit}, &order) ==
        OMPTARGET_RTL_DEVICE_LOST);
}

TEST_CASE("more large copies than there are tags wait for one") {
  Job job;
  constexpr int kTags = kLastTag - kFirstTag + 1;
  std::vector<std::byte> bytes(20'000);
  std::uint64_t last = 0;
  for (int i = 0; i < kTags; ++i)
    job.ask(Job::kOne, {.kind = Kind::kRetrieve, .size = bytes.size()}, {{}, bytes});
  for (const Operation& operation : job.come(Job::kOne))
    last = operation.id;
  CHECK(last == kTags);
  job.answer(Job::kOne, {5, 1, 0, {}}); // has failed: its tag is free, when somebody looks
  const tgt_event_t event = job.ask(Job::kOne, {.kind = Kind::kRetrieve, .size = bytes.size()}, {{}, bytes});
  const std::vector<Operation> asked = job.come(Job::kOne);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].tag == kFirstTag + 4);
  CHECK(asked[0].unknown == kTags);
  job.answer(Job::kOne, {77});
  CHECK(job.end_of(event).starts_with("lost: rank 1"));
}

TEST_CASE("nonsense in place of answers loses its worker at most") {
  constexpr std::uint64_t kValues[] = {0, 1, 2, 3, 8, 16, 4096, UINT32_MAX, 1ULL << 32, INT64_MAX, ~0ULL};
  std::minstd_rand random(1);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    Job job;
    std::array<std::byte, 8> small;
    std::vector<std::byte> large(100'000);
    const tgt_event_t asked[] = {job.join(Job::kOne),
                                 job.ask(Job::kOne, {Kind::kRetrieve, 0, 0, 0, 0, small.size()}, {{}, small}),
                                 job.ask(Job::kOne, {Kind::kRetrieve, 0, 0, 0, 0, large.size()}, {{}, large}),
                                 job.ask(Job::kOne, {Kind::kSubmit}, {large})};
    const tgt_event_t others = job.join(Job::kOther);
    REQUIRE(job.come(Job::kOther).size() == 1);
    Buffer message;
    for (std::uint64_t id = 1; id <= std::size(asked); ++id)
      write(message, Answer{id, 0, id == 3 ? kFirstTag : 0, id == 2 ? View(small) : View()});
    for (auto times = random() % 3; times > 0; --times) {
      const std::size_t at = random() % (message.size() / sizeof(std::uint64_t)) * sizeof(std::uint64_t);
      std::memcpy(&message[at], &kValues[random() % std::size(kValues)], sizeof(std::uint64_t));
    }
    message.resize(random() % 4 == 0 ? random() % message.size() : message.size());
    job.job.put(Job::kOne, kProgram, kAnswers, message);
    for (const tgt_event_t event : asked)
      CHECK_FALSE(job.end_of(event).empty());
    job.answer(Job::kOther, {1});
    CHECK(job.end_of(others) == "done");
  }
}
