// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests what the core relies on of any plugin: the functions of omptarget_rtl.h, as declared there, with right
// arguments and wrong ones. CMakeLists.txt beside this file lists the plugins it runs over.
#include "conformance.h"

#include <numeric>
#include <thread>

TEST_CASE("it counts its devices, always alike, and each can be initialised, twice") {
  REQUIRE(device_count() >= 1);
  CHECK(device_count() == device_count());
  for (std::int32_t device = 0; device < device_count(); ++device) {
    CHECK(init_device(device) == 0);
    CHECK(init_device(device) == 0);
  }
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(init_device(wrong) != 0);
    check_reason();
  }
}

TEST_CASE("it accepts an image that it can load, and no other bytes") {
  CHECK(Image().is_valid());
  const std::string text = "this is not an image, however long it is made: " + std::string(200, '.');
  CHECK_FALSE(Image(std::vector<char>{}).is_valid());
  CHECK_FALSE(Image({text.begin(), text.end()}).is_valid());
  CHECK_FALSE(Image(std::vector<char>(4096)).is_valid());
  for (const std::ptrdiff_t keep : {1, 4, 16, 63}) {
    CAPTURE(keep);
    CHECK_FALSE(Image({image_bytes().begin(), image_bytes().begin() + keep}).is_valid());
  }
}

TEST_CASE("the table is the host's, in its order; what the image lacks has no address") {
  for (std::int32_t device = 0; device < device_count(); ++device) {
    REQUIRE(init_device(device) == 0);
    Image& image = lasting_image();
    const tgt_target_table* const table = image.load(device);
    REQUIRE(table);
    REQUIRE(table->EntriesEnd - table->EntriesBegin == kEntries);
    for (const Entry entry : {kAdd, kCounter, kNothing, kAddToCounter, kStoreSeven, kCountCalls}) {
      CAPTURE(entry);
      CHECK(image[entry]);
    }
    CHECK(image[kAbsent] == nullptr);
  }
}

TEST_CASE("an image is loaded on no device that is not there") {
  Image image;
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(image.load(wrong) == nullptr);
    check_reason();
  }
}

TEST_CASE("two loaded images of like bytes have variables of their own") {
  Image& other = lasting_image();
  REQUIRE(other.load(0));
  const int before = counter_of(other);
  CHECK(before == 5);
  CHECK(run(kAddToCounter, {bits(10)}) == 0);
  CHECK(counter_of(other) == before);
}

TEST_CASE("an image that was released can be loaded again") {
  const auto unload = find<decltype(&__tgt_rtl_unload_binary)>("__tgt_rtl_unload_binary");
  if (!unload)
    return; // optional
  Image image;
  for (int round = 0; round < 3; ++round) {
    REQUIRE(image.load(0));
    const int changed = 77;
    CHECK(counter_of(image) == 5);
    CHECK(submit(image[kCounter], &changed, sizeof changed) == 0);
    CHECK(unload(0, image.record()) == 0);
  }
}

TEST_CASE("what is submitted is retrieved, whatever its size") {
  for (const std::size_t size : {1u, 3u, 8u, 4096u, 100'003u, 8u << 20}) {
    CAPTURE(size);
    std::vector<unsigned char> bytes(size);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(size));
    const Memory memory(bytes);
    CHECK(memory.values<unsigned char>(size) == bytes);
  }
}

TEST_CASE("a part of an allocation is written and read, and nothing beside it") {
  const Memory memory(std::vector<int>{1, 2, 3, 4, 5});
  const std::vector<int> two{30, 40};
  CHECK(submit(memory.at(2 * sizeof(int)), two.data(), 2 * sizeof(int)) == 0);
  CHECK(memory.values<int>(5) == std::vector<int>{1, 2, 30, 40, 5});
  int one = 0;
  CHECK(retrieve(&one, memory.at(3 * sizeof(int)), sizeof one) == 0);
  CHECK(one == 40);
}

TEST_CASE("allocations do not overlap, and are aligned for any type") {
  const Memory first(std::vector<char>(24, 'a')), second(std::vector<char>(24, 'b')), third(std::vector<char>(5, 'c'));
  CHECK(first.values<char>(24) == std::vector<char>(24, 'a'));
  CHECK(second.values<char>(24) == std::vector<char>(24, 'b'));
  CHECK(third.values<char>(5) == std::vector<char>(5, 'c'));
  for (const Memory* memory : {&first, &second, &third})
    CHECK(reinterpret_cast<std::uintptr_t>(memory->at()) % alignof(std::max_align_t) == 0);
}

TEST_CASE("no bytes are moved where the size is 0") {
  const Memory memory(std::vector<int>{1});
  int value = 2;
  CHECK(submit(memory.at(), &value, 0) == 0);
  CHECK(retrieve(&value, memory.at(), 0) == 0);
  CHECK(value == 2);
  CHECK(memory.values<int>(1) == std::vector<int>{1});
}

TEST_CASE("memory that cannot be had is refused") {
  for (const std::int64_t size : {std::int64_t{-1}, INT64_MIN, std::int64_t{1} << 60}) {
    CAPTURE(size);
    CHECK(RTL(__tgt_rtl_data_alloc)(0, size) == nullptr);
    check_reason();
  }
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(RTL(__tgt_rtl_data_alloc)(wrong, 8) == nullptr);
    check_reason();
  }
}

TEST_CASE("no copy has a negative size, or is made on a device that is not there") {
  const Memory memory(std::vector<int>{1});
  int value = 2;
  CHECK(RTL(__tgt_rtl_data_submit)(0, memory.at(), &value, -1) != 0);
  check_reason();
  CHECK(RTL(__tgt_rtl_data_retrieve)(0, &value, memory.at(), INT64_MIN) != 0);
  check_reason();
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(submit(memory.at(), &value, sizeof value, wrong) != 0);
    check_reason();
    CHECK(retrieve(&value, memory.at(), sizeof value, wrong) != 0);
    check_reason();
  }
  CHECK(value == 2);
  CHECK(memory.values<int>(1) == std::vector<int>{1});
}

TEST_CASE("a kernel gets its arguments: addresses and values, none or seven") {
  const Memory values(std::vector<int>{1, 2, 3});
  CHECK(run(kAdd, {values.at(), bits(3), bits(10)}) == 0);
  CHECK(values.values<int>(3) == std::vector<int>{11, 12, 13});
  CHECK(run(kAdd, {values.at(sizeof(int)), bits(1), bits(-12)}) == 0);
  CHECK(values.values<int>(3) == std::vector<int>{11, 0, 13});

  CHECK(run(kNothing, {}) == 0);
  CHECK(RTL(__tgt_rtl_run_target_region)(0, loaded()[kNothing], nullptr, 0) == 0);

  const Memory seen(6 * sizeof(std::int64_t));
  CHECK(run(kStoreSeven, {seen.at(), bits(1), bits(-2), bits(INT64_MAX), bits(INT64_MIN), bits(5), bits(6)}) == 0);
  CHECK(seen.values<std::int64_t>(6) == std::vector<std::int64_t>{1, -2, INT64_MAX, INT64_MIN, 5, 6});
}

TEST_CASE("variables keep what kernels and copies write to them") {
  const int set = 100;
  CHECK(submit(loaded()[kCounter], &set, sizeof set) == 0);
  CHECK(run(kAddToCounter, {bits(1)}) == 0);
  CHECK(run(kAddToCounter, {bits(2)}) == 0);
  CHECK(counter_of(loaded()) == 103);
}

TEST_CASE("a region with teams runs at least once, and as often as teams have threads at most") {
  const auto run_teams = RTL(__tgt_rtl_run_target_team_region);
  for (const std::int32_t teams : {1, 2, 7})
    for (const std::int32_t threads : {1, 3}) {
      CAPTURE(teams);
      CAPTURE(threads);
      const Memory calls(std::vector<int>{0});
      void* arguments[] = {calls.at()};
      CHECK(run_teams(0, loaded()[kCountCalls], arguments, 1, teams, threads) == 0);
      const int made = calls.values<int>(1)[0];
      CHECK(made >= 1);
      CHECK(made <= teams * threads);
    }
  const Memory calls(std::vector<int>{0}); // 0: the plugin chooses
  void* arguments[] = {calls.at()};
  CHECK(run_teams(0, loaded()[kCountCalls], arguments, 1, 0, 0) == 0);
  CHECK(calls.values<int>(1)[0] >= 1);
}

TEST_CASE("what cannot be run is refused") {
  const auto run_region = RTL(__tgt_rtl_run_target_region);
  const auto run_teams = RTL(__tgt_rtl_run_target_team_region);
  void* const kernel = loaded()[kCountCalls];
  const Memory calls(std::vector<int>{0});
  void* arguments[] = {calls.at()};
  CHECK(run_region(0, nullptr, arguments, 1) != 0);
  check_reason();
  CHECK(run_region(0, kernel, arguments, -1) != 0);
  check_reason();
  CHECK(run_teams(0, nullptr, arguments, 1, 1, 1) != 0);
  CHECK(run_teams(0, kernel, arguments, -1, 1, 1) != 0);
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(run_region(wrong, kernel, arguments, 1) != 0);
    check_reason();
    CHECK(run_teams(wrong, kernel, arguments, 1, 1, 1) != 0);
    check_reason();
  }
  CHECK(calls.values<int>(1)[0] == 0);
}

TEST_CASE("several threads allocate, copy, run and release at once") {
  constexpr int kThreads = 4, kRounds = 50;
  loaded();
  std::vector<int> right(kThreads);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number)
    threads.emplace_back([number, &right] { // doctest's checks are for the main thread
      for (int round = 0; round < kRounds; ++round) {
        int values[] = {number, round};
        void* const target = RTL(__tgt_rtl_data_alloc)(0, sizeof values);
        const bool done = target && submit(target, values, sizeof values) == 0 &&
                          run(kAdd, {target, bits(2), bits(1)}) == 0 && retrieve(values, target, sizeof values) == 0 &&
                          RTL(__tgt_rtl_data_delete)(0, target) == 0;
        right[static_cast<std::size_t>(number)] += done && values[0] == number + 1 && values[1] == round + 1;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(right == std::vector<int>(kThreads, kRounds));
}

TEST_CASE("memory that it calls addressable is read and written by the host") {
  const auto addressable = find<decltype(&__tgt_rtl_memory_is_addressable)>("__tgt_rtl_memory_is_addressable");
  if (!addressable || !addressable(0))
    return; // optional
  const Memory memory(std::vector<int>{41});
  ++*static_cast<int*>(memory.at());
  CHECK(memory.values<int>(1) == std::vector<int>{42});
}
