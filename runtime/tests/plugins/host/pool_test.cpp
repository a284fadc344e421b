// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pool.h"

#include "kernels/call.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <thread>
#include <vector>

using namespace omptool::host;

TEST_CASE("the pool calls each index once, for several callers at a time") {
  static Pool& pool = *new Pool; // its threads never end
  const auto use = [&](std::int64_t count) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    pool.run(
        count,
        [](void* context, std::int64_t i) {
          ++(*static_cast<std::vector<std::atomic<int>>*>(context))[static_cast<std::size_t>(i)];
        },
        &calls);
    return std::all_of(calls.begin(), calls.end(), [](const std::atomic<int>& seen) { return seen == 1; });
  };
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (const std::int64_t count : {0, 1, 2, 3, 100, 1000 + caller})
        for (int again = 0; again < 20; ++again)
          wrong += !use(count);
    });
  for (std::thread& caller : callers)
    caller.join();
  CHECK(wrong == 0);
}

namespace {
std::vector<std::uintptr_t> got;
bool aligned = false;

template <typename... Ts> void kernel(Ts... arguments) {
  alignas(16) char local[16];
  asm volatile("" : : "r"(local) : "memory");
  aligned = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 16 == 0;
  got = {reinterpret_cast<std::uintptr_t>(arguments)...};
}

template <std::size_t... I> void call_with(std::index_sequence<I...>) {
  std::vector<void*> arguments;
  for (std::size_t i = 0; i < sizeof...(I); ++i)
    arguments.push_back(reinterpret_cast<void*>(1000 + i));
  arguments.resize(std::max(sizeof...(I), kRegisterArguments));
  void (*const function)(decltype(static_cast<void*>(nullptr), (void)I, static_cast<void*>(nullptr))...) =
      kernel<decltype(static_cast<void>(I), static_cast<void*>(nullptr))...>;
  got.clear();
  omptool_host_call(reinterpret_cast<void*>(function), arguments.data(), sizeof...(I));
  REQUIRE(got.size() == sizeof...(I));
  for (std::size_t i = 0; i < sizeof...(I); ++i)
    CHECK(got[i] == 1000 + i);
  CHECK(aligned);
}
} // namespace

TEST_CASE("a kernel gets any number of arguments") {
  call_with(std::make_index_sequence<0>());
  call_with(std::make_index_sequence<1>());
  call_with(std::make_index_sequence<5>());
  call_with(std::make_index_sequence<6>());
  call_with(std::make_index_sequence<7>());
  call_with(std::make_index_sequence<8>());
  call_with(std::make_index_sequence<9>());
  call_with(std::make_index_sequence<64>());
  call_with(std::make_index_sequence<255>());
}
