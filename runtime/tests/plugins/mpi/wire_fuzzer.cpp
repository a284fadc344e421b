// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuzzes the readers of messages (libFuzzer): whatever arrives, a reader returns or throws Malformed, reads nothing
// beyond the message, and allocates no more than the message justifies. An input is a number, which chooses the kind
// of message, and the message. It begins with sound messages; most changes keep to the numbers that they are made of.
//
//   wire_fuzzer -max_total_time=SECONDS [-seed=N] [INPUT]
#include "messages.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>

namespace {

using namespace omptool::mpi;
using messages::kMessageKinds;

constexpr std::size_t kWord = sizeof(std::uint64_t);
// An entry of 32 bytes takes 56, and a vector that grows takes as much again.
constexpr std::size_t kMostForEachByte = 4, kMostForAFault = 4096;

bool is_reading = false;
std::size_t allocated = 0; // while it is

void* counted(std::size_t size) {
  if (is_reading)
    allocated += size;
  void* const memory = std::malloc(std::max<std::size_t>(size, 1));
  if (!memory)
    throw std::bad_alloc();
  return memory;
}

// Reads a copy that ends where its memory ends, so that AddressSanitizer sees what is read beyond.
void read(const messages::MessageKind& kind, View message) {
  const Buffer copy(message.begin(), message.end());
  allocated = 0;
  is_reading = true;
  try {
    kind.read(copy);
  } catch (const Malformed&) { // any other ends the process
  }
  is_reading = false;
  if (allocated > kMostForEachByte * message.size() + kMostForAFault) {
    std::fprintf(stderr, "a message of %zu bytes makes its reader allocate %zu\n", message.size(), allocated);
    std::abort();
  }
}

// Returns what a number of a message may become: sizes and counts near its own, and near what types hold.
std::uint64_t other_number(std::uint64_t number, std::size_t size, std::minstd_rand& random) {
  const std::uint64_t all[] = {0,         1,          number + 1,     number - 1,   size,         size / kWord,
                               size - 16, UINT32_MAX, UINT32_MAX / 8, INT32_MAX,    ~0ULL,        ~0ULL / 8,
                               INT64_MAX, ~0ULL - 7,  1ULL << 32,     number << 32, number >> 32, random()};
  return all[random() % std::size(all)];
}

void change(std::vector<std::uint64_t>& words, std::minstd_rand& random) {
  const auto at = [&] { return words.begin() + static_cast<std::ptrdiff_t>(random() % words.size()); };
  const auto one = at(), other = at();
  switch (random() % 6) {
  case 0: // a part is lost
    words.erase(std::min(one, other), std::max(one, other));
    break;
  case 1: { // a part comes twice
    const std::vector<std::uint64_t> part(std::min(one, other), std::max(one, other));
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size()), part.begin(), part.end());
    break;
  }
  case 2: { // a half is another number
    auto* const half = reinterpret_cast<std::uint32_t*>(&*one) + random() % 2;
    *half = static_cast<std::uint32_t>(other_number(*half, words.size() * kWord, random));
    break;
  }
  default:
    *one = other_number(*one, words.size() * kWord, random);
  }
}

} // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

extern "C" {

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t number = 0;
  if (size < sizeof number)
    return 0;
  std::memcpy(&number, data, sizeof number);
  read(kMessageKinds[number % kMessageKinds.size()], std::as_bytes(std::span(data, size)).subspan(sizeof number));
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::uint64_t> words(size / kWord);
  std::copy_n(data, words.size() * kWord, reinterpret_cast<std::uint8_t*>(words.data()));
  if (words.size() < 2 || random() % 16 == 0) {
    const std::size_t kind = random() % kMessageKinds.size();
    const Buffer sound = kMessageKinds[kind].sound();
    words.assign(1 + sound.size() / kWord, kind);
    std::copy(sound.begin(), sound.end(), reinterpret_cast<std::byte*>(&words[1]));
  } else if (random() % 4 == 0) {
    return LLVMFuzzerMutate(data, size, most);
  }
  for (auto times = random() % 3; times > 0 && !words.empty(); --times)
    change(words, random);
  const std::size_t changed = std::min(words.size() * kWord, most);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(words.data()), changed, data);
  return changed;
}
}
