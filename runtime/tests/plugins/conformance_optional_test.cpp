// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests what the core relies on of the optional functions that a plugin has: shapes, memory, descriptions. A function
// that the plugin lacks is not tested.
#include "conformance.h"

#include <numeric>

namespace {

using Bytes = std::vector<unsigned char>;

Bytes numbers(std::size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  return bytes;
}

// Pairs of devices, also of one and itself.
std::vector<std::array<std::int32_t, 2>> pairs() {
  std::vector<std::array<std::int32_t, 2>> all{{0, 0}};
  if (device_count() > 1) {
    REQUIRE(init_device(1) == 0);
    all.push_back({0, 1});
    all.push_back({1, 0});
  }
  return all;
}

// Waits for an operation that was queued, and releases its event. Returns its result.
std::int32_t end(tgt_event_t event) {
  REQUIRE(event);
  const std::int32_t result = RTL(__tgt_rtl_wait_event)(event);
  RTL(__tgt_rtl_release_dep)(event);
  return result;
}

// Returns whether the operation is done (0), or false with a reason if it is not possible.
bool is_done(std::int32_t result) {
  if (result != 0) {
    CHECK(result == OMPTARGET_RTL_NOT_STARTED);
    check_reason();
  }
  return result == 0;
}

} // namespace

// ---- images ----

TEST_CASE("what was compiled has a beginning before its end") {
  const auto last_compilation = find<decltype(&__tgt_rtl_last_compilation)>("__tgt_rtl_last_compilation");
  if (!last_compilation)
    return; // optional
  loaded();
  std::uint64_t began = 0, ended = 0;
  if (last_compilation(&began, &ended) != 0) {
    CHECK(began > 0);
    CHECK(began <= ended);
  }
}

// ---- shapes ----

TEST_CASE("a shape is launched as often as its teams have threads at most, or certainly not started") {
  const auto run_shaped = find<decltype(&__tgt_rtl_run_shaped)>("__tgt_rtl_run_shaped");
  if (!run_shaped)
    return;       // optional
  struct Longer { // as a later core has it
    tgt_launch_shape known;
    std::uint64_t unknown;
  };
  constexpr auto kSize = static_cast<std::uint32_t>(sizeof(tgt_launch_shape));
  constexpr std::uint32_t kCooperative = OMPTARGET_SHAPE_COOPERATIVE;
  const Longer shapes[] = {
      {{kSize, 0, 0, 0, {1, 1, 1}, {1, 1, 1}}, 0},
      {{kSize, 0, 100, 0, {2, 1, 1}, {3, 1, 1}}, 0},
      {{kSize, 0, 0, 0, {2, 3, 2}, {1, 2, 2}}, 0},
      {{kSize, 0, 0, 64, {2, 1, 1}, {2, 1, 1}}, 0},
      {{kSize, kCooperative, 0, 0, {4, 1, 1}, {1, 1, 1}}, 0},
      {{sizeof(Longer), 0, 0, 0, {2, 1, 1}, {2, 1, 1}}, UINT64_MAX},
      {{offsetof(tgt_launch_shape, threads), 0, 0, 0, {2, 1, 1}, {99, 99, 99}}, 0}, // which an earlier core lacks
  };
  for (const Longer& shape : shapes) {
    CAPTURE(&shape - shapes);
    const Memory calls(std::vector<int>{0});
    void* arguments[] = {calls.at()};
    const std::int32_t result = run_shaped(0, loaded()[kCountCalls], arguments, 1, &shape.known);
    const auto& [size, flags, trip_count, dynamic_memory, teams, threads] = shape.known;
    const bool has_threads = size > offsetof(tgt_launch_shape, threads);
    const auto most = teams[0] * teams[1] * teams[2] * (has_threads ? threads[0] * threads[1] * threads[2] : 1024);
    const int made = calls.values<int>(1)[0];
    if (result != 0) {
      check_reason();
      CHECK(result == OMPTARGET_RTL_NOT_STARTED);
      CHECK(made == 0);
    } else {
      CHECK(made >= 1);
      CHECK(made <= static_cast<int>(most));
    }
  }
  const Memory calls(std::vector<int>{0}); // 0: the plugin chooses
  void* arguments[] = {calls.at()};
  const tgt_launch_shape any{kSize, 0, 0, 0, {0, 1, 1}, {0, 1, 1}};
  CHECK(run_shaped(0, loaded()[kCountCalls], arguments, 1, &any) == 0);
  CHECK(calls.values<int>(1)[0] >= 1);
}

TEST_CASE("what cannot be run in a shape is refused") {
  const auto run_shaped = find<decltype(&__tgt_rtl_run_shaped)>("__tgt_rtl_run_shaped");
  if (!run_shaped)
    return; // optional
  void* const kernel = loaded()[kCountCalls];
  const tgt_launch_shape one{sizeof one, 0, 0, 0, {1, 1, 1}, {1, 1, 1}};
  const Memory calls(std::vector<int>{0});
  void* arguments[] = {calls.at()};
  CHECK(run_shaped(0, nullptr, arguments, 1, &one) != 0);
  check_reason();
  CHECK(run_shaped(0, kernel, arguments, -1, &one) != 0);
  check_reason();
  const tgt_launch_shape too_many{sizeof too_many, 0, 0, 0, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {1, 1, 1}};
  CHECK(run_shaped(0, kernel, arguments, 1, &too_many) == OMPTARGET_RTL_NOT_STARTED);
  check_reason();
  const tgt_launch_shape too_much{sizeof too_much, 0, 0, std::uint64_t{1} << 40, {1, 1, 1}, {1, 1, 1}};
  CHECK(run_shaped(0, kernel, arguments, 1, &too_much) == OMPTARGET_RTL_NOT_STARTED);
  check_reason("1099511627776 bytes");
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(run_shaped(wrong, kernel, arguments, 1, &one) != 0);
    check_reason();
  }
  CHECK(calls.values<int>(1)[0] == 0);
}

// ---- images ----

TEST_CASE("an image whose entries lead nowhere is loaded as by load_binary") {
  const auto load = find<decltype(&__tgt_rtl_load_indirect)>("__tgt_rtl_load_indirect");
  if (!load)
    return; // optional
  Image image;
  loaded();
  const std::array<std::int64_t, kEntries> extents{};
  const tgt_target_table* const table = load(0, image.record(), extents.data());
  REQUIRE(table);
  CHECK(table->EntriesEnd - table->EntriesBegin == kEntries);
  CHECK(table->EntriesBegin[kCounter].addr);
  image.unload();
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(!load(wrong, image.record(), extents.data()));
    check_reason();
  }
}

// ---- the host's memory ----

TEST_CASE("a device that reaches the host's memory uses it by its addresses, or says why not") {
  const auto reaches = find<decltype(&__tgt_rtl_reaches_host_memory)>("__tgt_rtl_reaches_host_memory");
  if (!reaches)
    return; // optional
  const auto values = std::make_unique<std::vector<int>>(std::vector<int>{1, 2});
  loaded();
  if (reaches(0) == 0) {
    check_reason();
  } else {
    CHECK(run(kAdd, {values->data(), bits(2), bits(3)}) == 0);
    CHECK(*values == std::vector<int>{4, 5});
  }
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(reaches(wrong) == 0);
    check_reason();
  }
}

// ---- fills ----

TEST_CASE("a fill sets each byte, and none beside them") {
  const auto data_fill = find<decltype(&__tgt_rtl_data_fill)>("__tgt_rtl_data_fill");
  if (!data_fill)
    return;
  for (const std::size_t size : {0u, 1u, 7u, 4096u, 1'000'003u}) {
    CAPTURE(size);
    Bytes bytes = numbers(size + 2);
    const Memory memory(bytes);
    if (!is_done(data_fill(0, memory.at(1), 0x7a5, static_cast<std::int64_t>(size))))
      return;
    std::fill(bytes.begin() + 1, bytes.end() - 1, static_cast<unsigned char>(0xa5));
    CHECK(memory.values<unsigned char>(size + 2) == bytes);
  }
  const Memory memory(Bytes{1, 2});
  CHECK(data_fill(0, memory.at(), 0, -1) != 0);
  check_reason();
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(data_fill(wrong, memory.at(), 0, 2) != 0);
    check_reason();
  }
  CHECK(memory.values<unsigned char>(2) == Bytes{1, 2});
}

// ---- between devices ----

TEST_CASE("bytes are exchanged between devices, and none beside them") {
  const auto data_exchange = find<decltype(&__tgt_rtl_data_exchange)>("__tgt_rtl_data_exchange");
  if (!data_exchange)
    return;
  for (const auto [from, to] : pairs())
    for (const std::size_t size : {0u, 1u, 4097u, 3'000'001u}) {
      CAPTURE(from);
      CAPTURE(to);
      CAPTURE(size);
      const Bytes bytes = numbers(size + 2);
      const Memory source(bytes, from), target(Bytes(size + 2, 0xee), to);
      if (!is_done(data_exchange(from, source.at(1), to, target.at(1), static_cast<std::int64_t>(size))))
        continue;
      Bytes expected = bytes;
      expected.front() = expected.back() = 0xee;
      CHECK(target.values<unsigned char>(size + 2) == expected);
      CHECK(source.values<unsigned char>(size + 2) == bytes);
    }
  const Memory source(Bytes{1}), target(Bytes{2});
  CHECK(data_exchange(0, source.at(), 0, target.at(), -1) != 0);
  check_reason();
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    CHECK(data_exchange(wrong, source.at(), 0, target.at(), 1) != 0);
    check_reason();
    CHECK(data_exchange(0, source.at(), wrong, target.at(), 1) != 0);
    check_reason();
  }
  CHECK(target.values<unsigned char>(1) == Bytes{2});
}

// ---- rectangles ----

namespace {

constexpr tgt_rectangle kRectangle{sizeof(tgt_rectangle), 0, 5, 4, 3, 7, 40, 8, 50};
constexpr std::size_t kSourceSize = 3 * 50, kTargetSize = 3 * 40;

void copy_by_rows(Bytes& target, const Bytes& source, const tgt_rectangle& all) {
  for (std::size_t plane = 0; plane < all.planes; ++plane)
    for (std::size_t row = 0; row < all.rows; ++row)
      for (std::size_t i = 0; i < all.width; ++i)
        target[plane * all.target_plane + row * all.target_row + i] =
            source[plane * all.source_plane + row * all.source_row + i];
}

} // namespace

TEST_CASE("a rectangle is copied to and from a device, and between devices, and nothing beside it") {
  const auto copy = find<decltype(&__tgt_rtl_data_copy_rectangle)>("__tgt_rtl_data_copy_rectangle");
  if (!copy)
    return;
  tgt_rectangle plane = kRectangle, row = kRectangle;
  plane.planes = row.planes = row.rows = 1; // how far the next would be says nothing
  plane.target_plane = plane.source_plane = row.target_row = row.source_row = 0;
  for (const tgt_rectangle& rectangle : {kRectangle, plane, row}) {
    const Bytes source = numbers(kSourceSize);
    const Bytes before(kTargetSize, 0xee);
    Bytes expected = before;
    copy_by_rows(expected, source, rectangle);
    const Memory in(source), out(before);
    if (is_done(copy(OMPTARGET_RTL_HOST, const_cast<unsigned char*>(source.data()), 0, out.at(), &rectangle)))
      CHECK(out.values<unsigned char>(kTargetSize) == expected);
    Bytes target = before;
    if (is_done(copy(0, in.at(), OMPTARGET_RTL_HOST, target.data(), &rectangle)))
      CHECK(target == expected);
    for (const auto [from, to] : pairs()) {
      const Memory there(source, from), result(before, to);
      if (is_done(copy(from, there.at(), to, result.at(), &rectangle)))
        CHECK(result.values<unsigned char>(kTargetSize) == expected);
    }
  }
}

TEST_CASE("no rectangle is copied where there is no such device") {
  const auto copy = find<decltype(&__tgt_rtl_data_copy_rectangle)>("__tgt_rtl_data_copy_rectangle");
  if (!copy)
    return;
  Bytes bytes(kSourceSize, 1);
  const Memory memory(Bytes(kTargetSize, 2));
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    if (wrong != OMPTARGET_RTL_HOST) {
      CHECK(copy(OMPTARGET_RTL_HOST, bytes.data(), wrong, memory.at(), &kRectangle) != 0);
      check_reason();
      CHECK(copy(0, bytes.data(), wrong, memory.at(), &kRectangle) != 0);
      check_reason();
    }
  }
  CHECK(copy(OMPTARGET_RTL_HOST, bytes.data(), OMPTARGET_RTL_HOST, bytes.data(), &kRectangle) != 0);
  check_reason();
  CHECK(memory.values<unsigned char>(kTargetSize) == Bytes(kTargetSize, 2));
}

// ---- kinds of memory ----

TEST_CASE("memory of each kind is allocated, used as its kind says, and freed") {
  const auto allocate = find<decltype(&__tgt_rtl_memory_alloc)>("__tgt_rtl_memory_alloc");
  const auto release = find<decltype(&__tgt_rtl_memory_free)>("__tgt_rtl_memory_free");
  const bool has_both = allocate && release, has_none = !allocate && !release;
  REQUIRE((has_both || has_none));
  if (has_none)
    return;
  loaded();
  for (const std::int32_t kind : {OMPTARGET_MEMORY_DEVICE, OMPTARGET_MEMORY_HOST, OMPTARGET_MEMORY_SHARED}) {
    CAPTURE(kind);
    void* const memory = allocate(0, 3 * sizeof(int), kind);
    if (!memory) {
      check_reason();
      continue;
    }
    const bool of_both = kind != OMPTARGET_MEMORY_DEVICE;
    const int three[] = {1, 2, 3};
    if (of_both)
      std::memcpy(memory, three, sizeof three);
    else
      REQUIRE(submit(memory, three, sizeof three) == 0);
    CHECK(run(kAdd, {memory, bits(3), bits(10)}) == 0);
    std::vector<int> result(3);
    if (of_both)
      std::memcpy(result.data(), memory, sizeof three);
    else
      REQUIRE(retrieve(result.data(), memory, sizeof three) == 0);
    CHECK(result == std::vector<int>{11, 12, 13});
    CHECK(release(0, memory, kind) == 0);
    for (const std::int64_t size : {std::int64_t{-1}, INT64_MIN, std::int64_t{1} << 60}) {
      CHECK(allocate(0, size, kind) == nullptr);
      check_reason();
    }
    for (const std::int32_t wrong : wrong_devices()) {
      CHECK(allocate(wrong, 8, kind) == nullptr);
      check_reason();
    }
  }
  CHECK(allocate(0, 8, 77) == nullptr);
  check_reason();
}

TEST_CASE("memory of the host is locked, used and unlocked") {
  const auto lock = find<decltype(&__tgt_rtl_host_lock)>("__tgt_rtl_host_lock");
  const auto unlock = find<decltype(&__tgt_rtl_host_unlock)>("__tgt_rtl_host_unlock");
  const bool has_both = lock && unlock, has_none = !lock && !unlock;
  REQUIRE((has_both || has_none));
  if (has_none)
    return;
  std::vector<int> values(10'000, 1);
  const auto size = static_cast<std::int64_t>(values.size() * sizeof(int));
  for (int round = 0; round < 2; ++round) {
    void* const there = lock(0, values.data(), size);
    REQUIRE(there);
    CHECK(run(kAdd, {there, bits(10'000), bits(1)}) == 0);
    CHECK(unlock(0, values.data()) == 0);
  }
  CHECK(values == std::vector<int>(10'000, 3));
}

// ---- descriptions ----

TEST_CASE("a description ends its texts, and is no longer than there is room for") {
  const auto describe = find<decltype(&__tgt_rtl_describe_device)>("__tgt_rtl_describe_device");
  if (!describe)
    return;
  for (std::int32_t device = 0; device < device_count(); ++device) {
    tgt_device_description all{};
    all.size = sizeof all;
    REQUIRE(describe(device, &all) == 0);
    CHECK(all.size == sizeof all);
    CHECK(std::memchr(all.name, '\0', sizeof all.name));
    CHECK(std::memchr(all.architecture, '\0', sizeof all.architecture));
    CHECK(std::memchr(all.driver, '\0', sizeof all.driver));
    CHECK(std::memchr(all.images, '\0', sizeof all.images));
    tgt_device_description first{}; // an earlier core's
    first.size = offsetof(tgt_device_description, memory);
    first.memory = 77;
    REQUIRE(describe(device, &first) == 0);
    CHECK(first.units == all.units);
    CHECK(first.memory == 77);
    struct { // a later core's
      tgt_device_description known;
      std::uint64_t unknown;
    } longer{};
    longer.known.size = sizeof longer;
    REQUIRE(describe(device, &longer.known) == 0);
    CHECK(longer.known.memory == all.memory);
    CHECK(longer.unknown == 0);
  }
  for (const std::int32_t wrong : wrong_devices()) {
    tgt_device_description all{};
    all.size = sizeof all;
    CHECK(describe(wrong, &all) != 0);
    check_reason();
  }
}

// ---- the asynchronous forms ----

TEST_SUITE_BEGIN("queues");

TEST_CASE("a queued shape and fill come one after the other in their stream") {
  const auto run_shaped = find<decltype(&__tgt_rtl_async_run_shaped)>("__tgt_rtl_async_run_shaped");
  const auto fill = find<decltype(&__tgt_rtl_async_data_fill)>("__tgt_rtl_async_data_fill");
  if (!run_shaped || !fill)
    return;
  loaded();
  const Memory calls(std::vector<int>{7});
  tgt_event_t cleared = nullptr, ran = nullptr;
  REQUIRE(fill(0, calls.at(), 0, sizeof(int), 0, nullptr, &cleared) == 0);
  void* arguments[] = {calls.at()};
  tgt_launch_shape shape{sizeof shape, 0, 0, 0, {3, 1, 1}, {2, 1, 1}};
  REQUIRE(run_shaped(0, loaded()[kCountCalls], arguments, 1, &shape, 1, &cleared, &ran) == 0);
  arguments[0] = nullptr; // both were read
  shape = {};
  CHECK(end(ran) == 0);
  CHECK(end(cleared) == 0);
  const int made = calls.values<int>(1)[0];
  CHECK(made >= 1);
  CHECK(made <= 6);
}

TEST_CASE("what cannot be queued is refused, and makes no event") {
  const auto run_shaped = find<decltype(&__tgt_rtl_async_run_shaped)>("__tgt_rtl_async_run_shaped");
  const auto fill = find<decltype(&__tgt_rtl_async_data_fill)>("__tgt_rtl_async_data_fill");
  const Memory memory(Bytes{1, 2});
  tgt_event_t made = nullptr;
  void* arguments[] = {memory.at()};
  const tgt_launch_shape too_many{sizeof too_many, 0, 0, 0, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {1, 1, 1}};
  if (fill)
    CHECK(fill(0, memory.at(), 0, -1, 0, nullptr, &made) != 0);
  if (run_shaped)
    CHECK(run_shaped(0, loaded()[kCountCalls], arguments, 1, &too_many, 0, nullptr, &made) ==
          OMPTARGET_RTL_NOT_STARTED);
  for (const std::int32_t wrong : wrong_devices()) {
    CAPTURE(wrong);
    if (fill)
      CHECK(fill(wrong, memory.at(), 0, 2, 0, nullptr, &made) != 0);
  }
  CHECK(made == nullptr);
  CHECK(memory.values<unsigned char>(2) == Bytes{1, 2});
}

TEST_SUITE_END();
