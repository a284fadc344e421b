// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests a worker's messages: its answers, and the messages that it refuses. The test plays the program and another
// worker.
#include "plugins/mpi/fake_mpi.h"
#include "worker/server.h"

#include <deque>
#include <doctest/doctest.h>
#include <random>
#include <string>

using namespace omptool;
using namespace omptool::mpi;

namespace {

constexpr int kMine = 1, kFellow = 2, kRanks = 3;

std::string text_of(View bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Heard ends of operations, by number; 0 is that of signs of life, and of the worker's last message.
struct Heard {
  std::map<std::uint64_t, std::string> ends;
  std::string thrown; // by serve()
  bool can_finalize = false;
};

// Setup that is never destroyed: a worker that has thrown has threads that still work, and both stay until the process
// ends.
struct Setup {
  explicit Setup(std::uint64_t heartbeat) : server(mpi, {{}, {heartbeat}}, backend) {}
  FakeJob job{kRanks};
  FakeMpi mpi{job, kMine};
  worker::Backend backend;
  worker::Server server;
};

// Serves the messages that `talk` puts into the job, and receives the answers.
template <typename Talk> Heard serve(const Talk& talk, std::uint64_t heartbeat = 0) {
  static auto& all = *new std::deque<Setup>;
  Setup& setup = all.emplace_back(heartbeat);
  FakeJob& job = setup.job;
  talk(job);
  Heard heard;
  try {
    heard.can_finalize = setup.server.serve();
  } catch (const std::exception& error) {
    heard.thrown = error.what();
  }
  while (const std::optional<Message> message = job.take(kProgram, kAnswers, kMine))
    for (Reader reader(message->bytes); !reader.at_end();) {
      const Answer answer = read_answer(reader);
      heard.ends[answer.id] = answer.result == 0 ? "done" : text_of(answer.bytes);
    }
  return heard;
}

Buffer written(const std::vector<Operation>& operations) {
  Buffer message;
  for (const Operation& operation : operations)
    write(message, operation);
  return message;
}

Heard serve_operations(const std::vector<Operation>& operations) {
  return serve([&](FakeJob& job) { job.put(kProgram, kMine, kControl, written(operations)); });
}

Operation goodbye(std::uint64_t id, std::int32_t value = 0) {
  return {.kind = Kind::kGoodbye, .id = id, .value = value};
}

} // namespace

TEST_CASE("a worker answers operations and pings, and ends with its program") {
  const Heard heard = serve_operations({{.id = 1}, {.kind = Kind::kPing}, goodbye(2)});
  CHECK(heard.thrown == "");
  CHECK(heard.ends == std::map<std::uint64_t, std::string>{{0, "done"}, {1, "done"}});
  CHECK(heard.can_finalize);
  CHECK_FALSE(serve_operations({goodbye(1, 1)}).can_finalize);
}

TEST_CASE("what follows a failure fails, too, and what the program knows of is forgotten") {
  const std::uint64_t first[] = {1}, second[] = {2};
  const Heard heard = serve_operations({{.kind = Kind::kImage, .device = 99, .id = 1},
                                        {.id = 2, .unknown = 1, .after = first},
                                        {.id = 3, .unknown = 2, .after = second},
                                        {.id = 4, .unknown = 0},
                                        goodbye(5)});
  CHECK(heard.thrown == "");
  CHECK(heard.ends.at(1).starts_with("an operation is for device 99 of "));
  CHECK(heard.ends.at(2) == heard.ends.at(1));
  CHECK(heard.ends.at(3) == heard.ends.at(1));
  CHECK(heard.ends.at(4) == "done");
}

TEST_CASE("a worker that is told what cannot be says so, and ends") {
  const auto thrown_by = [](const Operation& operation) {
    Heard heard = serve_operations({operation, goodbye(2)});
    CHECK(heard.ends[0] == heard.thrown);
    return heard.thrown;
  };
  const std::int32_t tag = kFirstTag;
  CHECK(thrown_by({.id = 7}) == "operation 7 comes after 0");
  CHECK(thrown_by({.id = 1, .tag = tag}) == "operation 1 has tag 16");
  CHECK(thrown_by({.kind = Kind::kImage, .id = 1, .tag = 3}) == "operation 1 has tag 3");
  CHECK(thrown_by({.kind = Kind::kGive, .id = 1}) == "operation 1 has tag 0");
  CHECK(thrown_by({.kind = Kind::kGive, .id = 1, .value = 3, .tag = tag}) == "operation 1 is with rank 3 of 3");
  CHECK(thrown_by({.kind = Kind::kGive, .id = 1, .value = 0, .tag = tag}) == "operation 1 is with rank 0 of 3");
  CHECK(thrown_by({.kind = Kind::kGive, .id = 1, .value = 1, .tag = tag}) == "operation 1 is with rank 1 of 3");
  CHECK(thrown_by({.kind = Kind::kSubmit, .id = 1, .value = -1, .tag = tag}) == "operation 1 is with rank -1 of 3");
  CHECK(thrown_by({.kind = Kind::kForget, .value = 9}) == "operation 0 is with rank 9 of 3");
  CHECK(thrown_by({.kind = Kind::kForget, .value = kMine}) == "the program takes this worker for lost");
}

// For no device: addresses are the program's own, and a worker cannot check them.
TEST_CASE("nonsense in place of operations ends the worker at most, with its reason") {
  constexpr std::uint64_t kValues[] = {0, 1, 2, 3, 8, 16, 17, 4096, INT64_MAX, ~0ULL};
  std::minstd_rand random(1);
  const auto any = [&] { return kValues[random() % std::size(kValues)]; };
  const auto usual = [&](std::uint64_t value) { return random() % 4 == 0 ? any() : value; };
  int ended = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    Buffer message;
    for (std::uint64_t id = 1; id <= 2; ++id) {
      const std::uint64_t after[] = {usual(id - 1), usual(1)}, arguments[] = {any(), any()};
      Operation operation{.kind = static_cast<Kind>(random() % static_cast<std::uint32_t>(Kind::kPing)),
                          .device = 99,
                          .id = random() % 16 == 0 ? any() : id,
                          .target = any(),
                          .source = any(),
                          .size = any(),
                          .value = static_cast<std::int32_t>(any()),
                          .tag = static_cast<std::int32_t>(usual(random() % 2 * kFirstTag)),
                          .unknown = static_cast<std::uint32_t>(any())};
      operation.after = std::span(after).first(random() % 3);
      operation.arguments = std::span(arguments).first(random() % 3);
      write(message, operation);
    }
    message.resize(random() % 4 == 0 ? random() % message.size() : message.size());
    const Heard heard = serve([&](FakeJob& job) {
      job.put(kProgram, kMine, kControl, message);
      job.put(kProgram, kMine, kControl, written({goodbye(3)}));
    });
    if (heard.thrown.empty())
      continue;
    ++ended;
    CHECK(heard.thrown.find(' ') != std::string::npos); // a sentence, no name of the C++ library's
    CHECK(heard.ends.at(0) == heard.thrown);
  }
  CHECK(ended > 20);
  CHECK(ended < 60);
}

TEST_CASE("the bytes of a copy are as many as the program has said") {
  const auto of_image = [](std::size_t size) {
    return serve([&](FakeJob& job) {
      job.put(kProgram, kMine, kControl,
              written({{.kind = Kind::kImage, .id = 1, .target = 1, .size = 8, .tag = kFirstTag}, goodbye(2)}));
      job.put(kProgram, kMine, kFirstTag, Buffer(size));
    });
  };
  CHECK(of_image(8).ends[1] == "done");
  CHECK(of_image(9).thrown == "a message has 9 bytes");
  CHECK(of_image(7).thrown == "a message has 7 bytes");
}

TEST_CASE("copies from a worker that is lost fail, before and after one hears of it") {
  const Operation taking{.kind = Kind::kSubmit, .id = 1, .size = 8, .value = kFellow, .tag = kFirstTag};
  Operation later = taking;
  later.id = 2;
  const Heard heard = serve([&](FakeJob& job) {
    job.put(kProgram, kMine, kControl, written({taking}));
    job.put(kProgram, kMine, kControl, written({{.kind = Kind::kForget, .value = kFellow}, later, goodbye(3)}));
  });
  CHECK(heard.thrown == "");
  CHECK(heard.ends.at(1) == "rank 2 of the program's workers is lost");
  CHECK(heard.ends.at(2) == "rank 2 of the program's workers is lost");
}

TEST_CASE("operations of another rank than the program's are not run") {
  const Heard heard = serve([&](FakeJob& job) {
    job.put(kFellow, kMine, kControl, written({{.id = 1}}));
    job.put(kProgram, kMine, kControl, written({{.id = 1}, goodbye(2)}));
  });
  CHECK(heard.thrown == "");
  CHECK(heard.ends.at(1) == "done");
}

TEST_CASE("a worker ends when MPI reports that its program has failed, or when that is silent") {
  const Heard failed = serve([](FakeJob& job) {
    job.fails_any = true;
    job.broken = {kProgram};
  });
  CHECK(failed.thrown == "MPI_Call: rank 0 has failed");
  CHECK(serve([](FakeJob&) {}, 1).thrown == "the program gives no sign of life");
}
