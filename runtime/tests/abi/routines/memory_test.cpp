// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The routines for memory on plugins with a function for each, with one that cannot, and with none.
#include "omptool_plugins.h"
#include "support.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void* omp_target_memset(void* target, int value, size_t size, int device_num);
void* llvm_omp_target_alloc_device(size_t size, int device_num);
void* llvm_omp_target_alloc_host(size_t size, int device_num);
void* llvm_omp_target_alloc_shared(size_t size, int device_num);
void llvm_omp_target_free_host(void* memory, int device_num);
void llvm_omp_target_free_shared(void* memory, int device_num);
void* llvm_omp_target_lock_mem(void* memory, size_t size, int device_num);
void llvm_omp_target_unlock_mem(void* memory, int device_num);
int __tgt_get_mem_resources(int count, const int* devices, int host, const void* space, int* resources);
void* __tgt_omp_alloc(size_t size, const void* allocator);
void __tgt_omp_free(void* memory, const void* allocator);
}

namespace {

Outcome run_on(const std::string& fake, const std::string& scenario, std::vector<std::string> environment = {}) {
  environment.insert(environment.end(), {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/" + fake, "OMPTOOL_PLUGINS=" + fake});
  return run_scenario(scenario, environment);
}

// Numbers from 0 on, one in each byte, in device memory.
class Numbers {
public:
  Numbers(std::size_t size, int device) : device_(device), memory_(omp_target_alloc(size, device)) {
    unsigned char numbers[256];
    std::iota(std::begin(numbers), std::end(numbers), static_cast<unsigned char>(0));
    std::vector<unsigned char> bytes(size); // filled by blocks: a sanitizer looks at each byte that is written alone
    for (std::size_t at = 0; at < size; at += sizeof numbers)
      std::memcpy(bytes.data() + at, numbers, std::min(sizeof numbers, size - at));
    omp_target_memcpy(memory_, bytes.data(), size, 0, 0, device, omp_get_initial_device());
  }
  ~Numbers() { omp_target_free(memory_, device_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  void* at(std::size_t offset = 0) const { return static_cast<char*>(memory_) + offset; }
  std::vector<unsigned char> bytes(std::size_t size) const {
    std::vector<unsigned char> all(size);
    omp_target_memcpy(all.data(), memory_, size, 0, 0, omp_get_initial_device(), device_);
    return all;
  }

private:
  int device_;
  void* memory_;
};

using Bytes = std::vector<unsigned char>;

// Copies a part of an array of 4 x 5 x 6 x 7 bytes into one of 5 x 6 x 7 x 8, and checks the bytes beside it.
int copies_rectangle(int dimensions, int to, int from) {
  constexpr std::size_t kSource[] = {4, 5, 6, 7}, kTarget[] = {5, 6, 7, 8}, kVolume[] = {2, 3, 4, 5},
                        kSourceAt[] = {1, 2, 1, 2}, kTargetAt[] = {2, 1, 3, 3};
  constexpr std::size_t kSourceSize = 4 * 5 * 6 * 7, kTargetSize = 5 * 6 * 7 * 8;
  const std::size_t skipped = static_cast<std::size_t>(4 - dimensions); // the last ones are copied
  Bytes source(kSourceSize), target(kTargetSize, 0xee), expected(kTargetSize, 0xee);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  std::vector<std::size_t> at(4);
  for (at[0] = 0; at[0] < (skipped > 0 ? 1 : kVolume[0]); ++at[0])
    for (at[1] = 0; at[1] < (skipped > 1 ? 1 : kVolume[1]); ++at[1])
      for (at[2] = 0; at[2] < (skipped > 2 ? 1 : kVolume[2]); ++at[2])
        for (at[3] = 0; at[3] < kVolume[3]; ++at[3]) {
          std::size_t source_index = 0, target_index = 0;
          for (std::size_t i = skipped; i < 4; ++i) {
            source_index = source_index * kSource[i] + at[i] + kSourceAt[i];
            target_index = target_index * kTarget[i] + at[i] + kTargetAt[i];
          }
          expected[target_index] = source[source_index];
        }
  const int host = omp_get_initial_device();
  void* const there = omp_target_alloc(kSourceSize, from);
  void* const result = omp_target_alloc(kTargetSize, to);
  EXPECT(omp_target_memcpy(there, source.data(), kSourceSize, 0, 0, from, host) == 0);
  EXPECT(omp_target_memcpy(result, target.data(), kTargetSize, 0, 0, to, host) == 0);
  EXPECT(omp_target_memcpy_rect(result, there, 1, dimensions, kVolume + skipped, kTargetAt + skipped,
                                kSourceAt + skipped, kTarget + skipped, kSource + skipped, to, from) == 0);
  EXPECT(omp_target_memcpy(target.data(), result, kTargetSize, 0, 0, host, to) == 0);
  EXPECT(target == expected);
  omp_target_free(there, from);
  omp_target_free(result, to);
  return 0;
}

} // namespace

// Fills work the same on every plugin.
SCENARIO_OF(fills) {
  use_main();
  constexpr std::size_t kSize = 10'000;
  const Numbers memory(kSize, 0);
  EXPECT(omp_target_memset(memory.at(1), 0x1ab, kSize - 2, 0) == memory.at(1));
  const Bytes bytes = memory.bytes(kSize);
  EXPECT(bytes[0] == 0 && bytes[1] == 0xab && bytes[kSize - 2] == 0xab);
  EXPECT(bytes[kSize - 1] == static_cast<unsigned char>(kSize - 1));
  EXPECT(omp_target_memset(memory.at(), 1, 0, 0) == memory.at());
  EXPECT(omp_target_memset(nullptr, 1, 5, 0) == nullptr);
  EXPECT(omp_target_memset(memory.at(), 1, 5, 77) == nullptr);
  EXPECT(memory.bytes(kSize) == bytes);
  return 0;
}

SCENARIO_OF(exchanges) {
  use_main();
  constexpr std::size_t kSize = (2 << 20) + 77;
  const int second = omp_get_num_devices() - 1;
  const Numbers memory(kSize, 0), other(kSize, second);
  EXPECT(omp_target_memset(other.at(), 0, kSize, second) != nullptr);
  EXPECT(omp_target_memcpy(other.at(), memory.at(), kSize - 2, 1, 1, second, 0) == 0);
  Bytes expected = memory.bytes(kSize);
  expected.back() = 0;
  EXPECT(other.bytes(kSize) == expected);
  EXPECT(omp_target_memcpy(memory.at(), memory.at(), 100, 0, 1000, 0, 0) == 0);
  EXPECT(memory.bytes(100)[5] == static_cast<unsigned char>(1005));
  return 0;
}

SCENARIO_OF(rectangles) {
  use_main();
  const int host = omp_get_initial_device();
  for (int dimensions = 1; dimensions <= 4; ++dimensions)
    for (const int to : {0, host})
      for (const int from : {host, 0})
        EXPECT(copies_rectangle(dimensions, to, from) == 0);
  return 0;
}

TEST_CASE("fills and copies are right with the plugin's function, with one that cannot, and without") {
#ifdef RACES_ARE_SOUGHT
  const std::vector<std::string> scenarios = {"exchanges"};
#else
  const std::vector<std::string> scenarios = {"fills", "exchanges", "rectangles"};
#endif
  for (const std::string& scenario : scenarios) {
    CAPTURE(scenario);
    for (const char* fake : {"fakeasking", "fakefail", "fakenothing", "fakewhole"}) {
      CAPTURE(fake);
      const Outcome outcome = run_on(fake, scenario);
      CHECK_MESSAGE(outcome.code == 0, outcome.output);
    }
    for (const char* more : {"UNUSED=", "FAKEWHOLE_RESULT=2", "FAKEWHOLE_NO_MEMORY=1"}) {
      CAPTURE(more);
      const Outcome outcome = run_on("fakewhole", scenario, {"OMPTOOL_HOST_DEVICES=2", more});
      CHECK_MESSAGE(outcome.code == 0, outcome.output);
    }
    for (const char* more : {"UNUSED=", "OMPTOOL_HOST_QUEUES=1", "OMPTOOL_HOST_MEMORY=shared"}) {
      CAPTURE(more);
      const Outcome outcome = run_scenario(scenario, {"OMPTOOL_HOST_DEVICES=2", more});
      CHECK_MESSAGE(outcome.code == 0, outcome.output);
    }
  }
}

SCENARIO_OF(one_of_each) {
  use_main();
  const Numbers memory(1000, 0), other(1000, 1);
  const int host = omp_get_initial_device();
  const std::size_t dimensions[] = {10, 10, 10}, volume[] = {2, 3, 4}, offsets[] = {1, 1, 1};
  Bytes bytes(1000);
  omp_target_memset(memory.at(), 7, 1000, 0);
  omp_target_memcpy(other.at(), memory.at(), 1000, 0, 0, 1, 0);
  omp_target_memcpy_rect(other.at(), bytes.data(), 1, 3, volume, offsets, offsets, dimensions, dimensions, 1, host);
  omp_target_memcpy_rect(bytes.data(), other.at(), 1, 2, volume, offsets, offsets, dimensions, dimensions, host, 1);
  const std::size_t nothing[] = {2, 0, 4};
  omp_target_memcpy_rect(other.at(), memory.at(), 1, 3, nothing, offsets, offsets, dimensions, dimensions, 1, 0);
  return 0;
}

TEST_CASE("each fill, exchange and rectangle is one call of the plugin's") {
  const Outcome outcome = run_on("fakewhole", "one_of_each", {"OMPTOOL_HOST_DEVICES=2", "FAKEWHOLE_COPIES=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  const std::size_t first = outcome.output.find("FAKE: fill");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.output.substr(first) == "FAKE: fill 1000 with 7\nFAKE: exchange 1000 from 0 to 1\n"
                                        "FAKE: rectangle 4 3 2 from -1 at 10 100 to 1 at 10 100\n"
                                        "FAKE: rectangle 3 2 1 from 1 at 10 0 to -1 at 10 0\n");
}

SCENARIO_OF(nothing_moves) {
  use_main();
  const Numbers memory(1000, 0), other(1000, 1);
  const std::size_t dimensions[] = {10, 10, 10}, volume[] = {2, 3, 4}, offsets[] = {1, 1, 1};
  EXPECT(omp_target_memset(memory.at(), 7, 1000, 0) == nullptr);
  EXPECT(omp_target_memcpy(other.at(), memory.at(), 1000, 0, 0, 1, 0) == -1);
  EXPECT(omp_target_memcpy_rect(other.at(), memory.at(), 1, 3, volume, offsets, offsets, dimensions, dimensions, 1,
                                0) == -1);
  return 0;
}

TEST_CASE("a function of the plugin's that fails is a failure") {
  const Outcome outcome = run_on("fakewhole", "nothing_moves", {"OMPTOOL_HOST_DEVICES=2", "FAKEWHOLE_RESULT=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

TEST_CASE("what goes through the host goes through page-locked memory where there is any") {
  const Outcome outcome =
      run_on("fakewhole", "exchanges", {"OMPTOOL_HOST_DEVICES=2", "FAKEWHOLE_COPIES=1", "FAKEWHOLE_RESULT=2"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("FAKE: exchange 2097227 from 0 to 1\nFAKE: 1048576 of kind 1\nFAKE: retrieve 1048576\n"
                    "FAKE: submit 1048576\nFAKE: retrieve 1048576\nFAKE: submit 1048576\nFAKE: retrieve 75\n"
                    "FAKE: submit 75\nFAKE: freed of kind 1\n"));
}

SCENARIO_OF(kinds_of_memory) {
  use_main();
  const bool has_any = !std::getenv("FAKEWHOLE_NO_MEMORY");
  const int host = omp_get_initial_device();
  auto* const first = static_cast<int*>(llvm_omp_target_alloc_host(2 * sizeof(int), 0));
  auto* const second = static_cast<int*>(llvm_omp_target_alloc_shared(2 * sizeof(int), 0));
  EXPECT((first != nullptr) == has_any && (second != nullptr) == has_any);
  for (int* memory : {first, second}) {
    if (!memory)
      continue;
    memory[0] = 1;
    memory[1] = 2;
    EXPECT(Rows({value(reinterpret_cast<std::uintptr_t>(memory)), value(2)}).region(&host::add_one) == 0);
    EXPECT(memory[0] == 2 && memory[1] == 3);
    omp_target_free(memory, 0);
  }
  void* const plain = llvm_omp_target_alloc_host(8, host);
  EXPECT(plain);
  llvm_omp_target_free_host(plain, host);
  EXPECT(!llvm_omp_target_alloc_host(0, 0) && !llvm_omp_target_alloc_shared(SIZE_MAX, 0));
  EXPECT(!llvm_omp_target_alloc_host(8, 77));
  const int device = 0;
  int resource = -1;
  EXPECT(__tgt_get_mem_resources(1, &device, 1, nullptr, &resource) == 1 && resource == 0);
  void* const allocated = __tgt_omp_alloc(16, nullptr);
  EXPECT((allocated != nullptr) == has_any);
  __tgt_omp_free(allocated, nullptr);
  return 0;
}

TEST_CASE("memory of a kind is the plugin's, and freed as such") {
  Outcome outcome = run_on("fakewhole", "kinds_of_memory");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "FAKE: 8 of kind 1\nFAKE: 8 of kind 2\nFAKE: freed of kind 1\nFAKE: freed of kind 2\n"
                          "FAKE: 16 of kind 2\nFAKE: freed of kind 2\n");
  outcome = run_on("fakewhole", "kinds_of_memory", {"FAKEWHOLE_NO_MEMORY=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  outcome = run_scenario("kinds_of_memory");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(locks) {
  use_main();
  std::vector<char> memory(100);
  char* const begin = memory.data();
  EXPECT(llvm_omp_target_lock_mem(begin + 10, 50, 0) == begin + 10);
  EXPECT(llvm_omp_target_lock_mem(begin + 20, 10, 0) == begin + 20); // within it
  const bool locks = std::getenv("LOCKS");
  EXPECT(llvm_omp_target_lock_mem(begin, 30, 0) == (locks ? nullptr : begin)); // a part of it
  llvm_omp_target_unlock_mem(begin + 25, 0);
  llvm_omp_target_unlock_mem(begin + 10, 0);
  llvm_omp_target_unlock_mem(begin + 10, 0); // nothing is locked
  EXPECT(llvm_omp_target_lock_mem(begin, 30, 0) == begin);
  EXPECT(llvm_omp_target_lock_mem(begin + 30, 70, 0) == begin + 30); // beside it
  llvm_omp_target_unlock_mem(begin, 0);
  llvm_omp_target_unlock_mem(begin + 99, 0);
  EXPECT(llvm_omp_target_lock_mem(begin, 8, 77) == begin && llvm_omp_target_lock_mem(nullptr, 8, 0) == nullptr);
  EXPECT(llvm_omp_target_lock_mem(begin, 8, omp_get_initial_device()) == begin);
  return 0;
}

TEST_CASE("memory is locked once, and unlocked by the last who has locked it") {
  Outcome outcome = run_on("fakewhole", "locks", {"LOCKS=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "FAKE: lock 50\nFAKE: unlock\nFAKE: lock 30\nFAKE: lock 70\nFAKE: unlock\nFAKE: unlock\n");
  outcome = run_scenario("locks"); // without such functions
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(locks_of_threads) {
  use_main();
  static char memory[64];
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        wrong += llvm_omp_target_lock_mem(memory, sizeof memory, 0) != memory;
        llvm_omp_target_unlock_mem(memory, 0);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT(wrong == 0);
  return 0;
}

TEST_CASE("threads lock and unlock the same memory") {
  const Outcome outcome = run_on("fakewhole", "locks_of_threads");
  CHECK_MESSAGE(outcome.code == 0, outcome.output.substr(0, 200));
}

SCENARIO_OF(not_locked) {
  use_main();
  char memory[8];
  EXPECT(llvm_omp_target_lock_mem(memory, 8, 0) == nullptr);
  llvm_omp_target_unlock_mem(memory, 0);
  return 0;
}

TEST_CASE("memory that the plugin cannot lock is not locked") {
  const Outcome outcome = run_on("fakewhole", "not_locked", {"FAKEWHOLE_NO_MEMORY=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "FAKE: lock 8\n");
}
