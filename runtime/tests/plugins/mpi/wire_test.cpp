// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages between a program and its workers: what is written is read, and what is damaged is refused or read within
// its bytes, whatever byte is wrong.
#include "messages.h"

#include <algorithm>
#include <cstring>
#include <doctest/doctest.h>
#include <functional>
#include <memory>
#include <random>

using namespace omptool::mpi;
using namespace omptool::mpi::messages;

namespace {

// Reads a copy of the bytes that ends where its memory ends, so that a sanitizer sees what is read beyond.
void read_copy(const Buffer& bytes, const std::function<void(View)>& read) {
  const std::unique_ptr<std::uint64_t[]> copy(new std::uint64_t[bytes.size() / sizeof(std::uint64_t)]);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(copy.get()));
  try {
    read({reinterpret_cast<const std::byte*>(copy.get()), bytes.size()});
  } catch (const Malformed&) {
  }
}

// Damages a message: changes each byte in turn, truncates at each place, and then changes several random bytes.
void damage(const Buffer& sound, const std::function<void(View)>& read) {
  for (std::size_t size = 0; size < sound.size(); size += sizeof(std::uint64_t))
    read_copy({sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size)}, read);
  for (std::size_t at = 0; at < sound.size(); ++at)
    for (const int wrong : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Buffer damaged = sound;
      damaged[at] = static_cast<std::byte>(wrong);
      read_copy(damaged, read);
    }
  std::minstd_rand random(1);
  for (int round = 0; round < 2000; ++round) {
    Buffer damaged = sound;
    for (int i = 0; i < 4; ++i)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    read_copy(damaged, read);
  }
}

} // namespace

TEST_CASE("operations are read as they are written, one after the other") {
  const Buffer message = message_of({launch(), copy()});
  CHECK(message.size() % sizeof(std::uint64_t) == 0);
  Reader reader(message);
  const Operation first = read_operation(reader), second = read_operation(reader);
  CHECK(reader.at_end());
  CHECK(first.kind == Kind::kRun);
  CHECK(first.device == 3);
  CHECK(first.id == 41);
  CHECK(first.target == 0x1000);
  CHECK(first.has_shape);
  CHECK(first.shape.teams[0] == 5);
  REQUIRE(first.after.size() == 2);
  CHECK(first.after[1] == 2);
  REQUIRE(first.arguments.size() == 3);
  CHECK(first.arguments[2] == 9);
  CHECK(second.kind == Kind::kSubmit);
  CHECK_FALSE(second.has_shape);
  REQUIRE(second.bytes.size() == 12);
  CHECK(std::memcmp(second.bytes.data(), "twelve bytes", 12) == 0);
}

TEST_CASE("answers are read as they are written") {
  const Buffer message = answers();
  Reader reader(message);
  const Answer first = read_answer(reader), second = read_answer(reader);
  CHECK(first.id == 7);
  CHECK(first.result == 2);
  CHECK(first.bytes.size() == 16);
  CHECK(second.tag == 16);
  CHECK(second.ran.began == 5);
  CHECK(second.ran.ended == 9);
  CHECK(reader.at_end());
}

TEST_CASE("greetings, entries and tables are read as they are written") {
  const Greeting read = read_greeting(written(greeting()));
  CHECK(read.version == OMPTOOL_VERSION);
  CHECK(read.workers == std::vector<int>{1, 2, 5});
  CHECK(read.node == "node7");
  CHECK(read_welcome(written(Welcome{30})).heartbeat == 30);
  REQUIRE(read.devices.size() == 2);
  CHECK(read.devices[0].makes_teams);
  CHECK(read.devices[1].plugin == "cuda");
  CHECK(std::string(read.devices[1].description.architecture) == "sm_90");
  const std::vector<Entry> found = read_entries(written(entries()));
  REQUIRE(found.size() == 2);
  CHECK(found[1].name == "table");
  CHECK(found[1].address == 24);
  CHECK(found[1].extent == 64);
  const std::vector<Loaded> loaded = read_table(written(table()));
  REQUIRE(loaded.size() == 2);
  CHECK(loaded[0].address == 0x100);
  CHECK(loaded[0].takes_shape == 1);
  CHECK(loaded[1].size == 8);
  CHECK(loaded[1].takes_shape == 0);
}

TEST_CASE("a worker of another version is known by that, whatever follows") {
  Buffer message;
  Writer(message).text("0.0.9");
  Writer(message).text("fields of another version");
  CHECK(read_greeting(message).version == "0.0.9");
}

TEST_CASE("a fault is named with its values") {
  const auto fault_of = [](const std::function<void(Operation&)>& change, std::size_t less = 0) -> std::string {
    Operation operation = launch();
    change(operation);
    Buffer message = message_of({operation});
    message.resize(message.size() - less);
    try {
      read_operations(message);
    } catch (const Malformed& fault) {
      return fault.what();
    }
    return "";
  };
  CHECK(fault_of([](Operation&) {}) == "");
  CHECK(fault_of([](Operation&) {}, 8) == "a message ends within arguments, of 24 bytes, after 16");
  CHECK(fault_of([](Operation& one) { one.kind = static_cast<Kind>(99); }).find("an operation of kind 99") !=
        std::string::npos);
  CHECK(fault_of([](Operation& one) { one.id = 0; }) == "a message has an operation of kind 6 with the number 0");
  CHECK(fault_of([](Operation& one) { one.kind = Kind::kPing; }) ==
        "a message has an operation of kind 14 with the number 41");
  CHECK_THROWS_AS(read_welcome(written(Welcome{kLongestHeartbeat + 1})), Malformed);
  CHECK(fault_of([](Operation& one) { one.tag = -1; }).find("tag -1") != std::string::npos);
  CHECK(fault_of([](Operation& one) { one.shape.size = 8; }) == "a shape says that it has 8 bytes");
  CHECK_THROWS_AS(read_table(Buffer(16, std::byte{1})), Malformed);
}

TEST_CASE("damaged messages are refused, or read within their bytes") {
  for (const MessageKind& kind : kMessageKinds)
    damage(kind.sound(), kind.read);
}
