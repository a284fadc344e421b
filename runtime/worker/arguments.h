// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the numbers of an operation to arguments of plugin functions.
#pragma once

#include "mpi/transport/wire.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace omptool::worker {

inline constexpr std::size_t kMostWithAnswer = std::size_t{1} << 20; // bytes of a copy that travel with it

inline void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

// Size of the bytes of a copy that are sent with its answer.
inline std::size_t size_with_answer(const mpi::Operation& operation) {
  if (operation.size > kMostWithAnswer)
    throw mpi::Malformed("a copy of " + std::to_string(operation.size) + " bytes is to come with its answer");
  return operation.size;
}

// Kernel arguments in the form for the plugin.
struct KernelArguments {
  std::vector<void*> words;
  void** first = nullptr; // among the words
  std::int32_t count = 0;
  bool has_shape = false;
};

inline KernelArguments arguments_of(const mpi::Operation& operation) {
  static_assert(sizeof(void*) == sizeof(std::uint64_t));
  const std::span<const std::uint64_t> given = operation.arguments;
  KernelArguments made{std::vector<void*>(2 * given.size() + 1)}; // as an array: the most
  if (!given.empty())
    std::memcpy(made.words.data(), given.data(), given.size_bytes());
  made.first = made.words.data();
  made.count = static_cast<std::int32_t>(given.size());
  made.has_shape = operation.has_shape;
  if (!operation.has_shape || !(operation.shape.flags & OMPTARGET_SHAPE_ARGUMENT_ARRAY))
    return made;
  // The addresses come behind the words, and theirs is all that the kernel gets.
  for (std::size_t i = 0; i < given.size(); ++i)
    made.words[given.size() + i] = &made.words[i];
  made.words.back() = made.first + given.size();
  made.first = &made.words.back();
  made.count = 1;
  made.has_shape = false;
  return made;
}

} // namespace omptool::worker
