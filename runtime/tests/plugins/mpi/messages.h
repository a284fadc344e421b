// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages that a program and its workers send each other, and a reader for each kind.
#pragma once

#include "mpi/transport/wire.h"

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace omptool::mpi::messages {

inline constexpr std::uint64_t kAfter[] = {1, 2}, kArguments[] = {7, 8, 9};

inline View bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline Operation launch() {
  Operation operation{Kind::kRun, 3, 41, 0x1000};
  operation.has_shape = true;
  operation.shape.size = sizeof operation.shape;
  operation.shape.teams[0] = 5;
  operation.after = kAfter;
  operation.arguments = kArguments;
  return operation;
}

inline Operation copy() {
  Operation operation{Kind::kSubmit, 0, 42, 0x2000};
  operation.bytes = bytes_of("twelve bytes");
  return operation;
}

inline Buffer message_of(const std::vector<Operation>& operations) {
  Buffer message;
  for (const Operation& operation : operations)
    write(message, operation);
  return message;
}

inline Buffer answers() {
  Buffer message;
  write(message, Answer{7, 2, 0, bytes_of("too many threads")});
  write(message, Answer{8, 0, 16, {}, {5, 9}});
  return message;
}

inline Greeting greeting() {
  Greeting made{OMPTOOL_VERSION, {1, 2, 5}, {{"host", {}, true}, {"cuda", {}, false}}, "", "node7"};
  std::strcpy(made.devices[1].description.architecture, "sm_90");
  return made;
}

inline std::vector<Entry> entries() {
  return {{"kernel", 16, 0, 0}, {"table", 24, 8, 64}};
}

inline std::vector<Loaded> table() {
  return {{0x100, 0, 1}, {0, 8, 0}};
}

// Reads each byte of a part, so that a sanitizer sees one that lies beyond the message.
inline void touch(View part) {
  std::byte all{};
  for (const std::byte one : part)
    all ^= one;
  [[maybe_unused]] const volatile std::byte used = all;
}

inline void read_operations(View message) {
  for (Reader reader(message); !reader.at_end();) {
    const Operation operation = read_operation(reader);
    touch(std::as_bytes(operation.after));
    touch(std::as_bytes(operation.arguments));
    touch(operation.bytes);
  }
}

inline void read_answers(View message) {
  for (Reader reader(message); !reader.at_end();)
    touch(read_answer(reader).bytes);
}

// Message kind that one side sends and the other reads.
struct MessageKind {
  Buffer (*sound)();
  void (*read)(View message);
};
inline constexpr std::array kMessageKinds = {
    MessageKind{[] { return message_of({launch(), copy()}); }, read_operations},
    MessageKind{answers, read_answers},
    MessageKind{[] { return written(Welcome{30}); }, [](View message) { read_welcome(message); }},
    MessageKind{[] { return written(greeting()); }, [](View message) { read_greeting(message); }},
    MessageKind{[] { return written(entries()); }, [](View message) { read_entries(message); }},
    MessageKind{[] { return written(table()); }, [](View message) { read_table(message); }},
};

} // namespace omptool::mpi::messages
