// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of much memory.
#include "calls.h"
#include "conformance_queues.h"

#include <numeric>
#include <thread>

namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::vector<int> numbers(std::size_t bytes) {
  std::vector<int> all(bytes / sizeof(int));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

Names names_of(const auto& what) {
  CallLog log;
  log.lines();
  what();
  return log.names();
}

std::ptrdiff_t count_in(const Names& names, const char* name) {
  return std::count(names.begin(), names.end(), name);
}

} // namespace

TEST_CASE("page-locked memory is copied, whoever has locked it") {
  loaded();
  const Memory memory(8 * kMiB);
  std::vector<int> values = numbers(8 * kMiB);
  const auto one_each = [&] {
    CHECK(count_in(names_of([&] { CHECK(submit(memory.at(), values.data(), 8 * kMiB) == 0); }), "cuMemcpyHtoDAsync") ==
          1);
    const Event out = retrieve_later(values.data(), memory.at(), 8 * kMiB);
    CHECK(out.wait() == 0);
  };
  CHECK(RTL(__tgt_rtl_host_lock)(0, values.data(), 8 * kMiB));
  one_each();
  CHECK(RTL(__tgt_rtl_host_unlock)(0, values.data()) == 0);
  void* const fake = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); // as another library would
  CHECK(reinterpret_cast<int (*)(void*, std::size_t, unsigned)>(::dlsym(fake, "cuMemHostRegister_v2"))(
            values.data(), 8 * kMiB, 0) == 0);
  one_each();
  const Held held; // such a copy does not hold the call up
  const Event out = retrieve_later(values.data(), memory.at(), 8 * kMiB, {held});
  CHECK(count_in(names_of([&] { CHECK(out.is_pending()); }), "cuMemcpyDtoHAsync") == 0);
  held.open();
  CHECK(out.wait() == 0);
  CHECK(reinterpret_cast<int (*)(void*)>(::dlsym(fake, "cuMemHostUnregister"))(values.data()) == 0);
  CHECK(values == numbers(8 * kMiB));
}

TEST_CASE("a large copy does not hold the call up behind a kernel, and does behind copies") {
  loaded();
  std::vector<int> values = numbers(6 * kMiB), back(values.size());
  const Memory first(6 * kMiB), second(6 * kMiB);
  const Names copies = names_of([&] {
    const Event in = submit_later(first.at(), values.data(), 6 * kMiB);
    const Event also = submit_later(second.at(), values.data(), 6 * kMiB, {in});
    CHECK(also.wait() == 0);
  });
  CHECK(count_in(copies, "cuMemcpyHtoDAsync") == 2);
  const Held held;
  CallLog log;
  log.lines();
  const Event in = submit_later(first.at(), values.data(), 6 * kMiB, {held});
  const Event ran = run_later(kernel(kAdd), {first.at(), bits(1000), bits(5)}, {in});
  const Event out = retrieve_later(back.data(), first.at(), 6 * kMiB, {ran});
  CHECK(out.is_pending());
  CHECK(count_in(log.names(), "cuMemcpyHtoDAsync") == 0);
  held.open();
  CHECK(out.wait() == 0);
  for (std::size_t i = 0; i < 1000; ++i)
    values[i] += 5;
  CHECK(back == values);
}

TEST_CASE("much pageable memory is copied in pieces, by several threads") {
  constexpr std::size_t kSize = 20 * kMiB + 12, kPieces = 11;
  const bool is_staged = std::thread::hardware_concurrency() > 1;
  loaded();
  const Memory memory(kSize);
  const std::vector<int> values = numbers(kSize);
  const auto count = [&](const char* copy, const auto& what) {
    CHECK(count_in(names_of(what), copy) == (is_staged ? kPieces : 1));
  };
  std::vector<int> back(values.size());
  count("cuMemcpyHtoDAsync", [&] { CHECK(submit(memory.at(), values.data(), kSize) == 0); });
  count("cuMemcpyDtoHAsync", [&] { CHECK(retrieve(back.data(), memory.at(), kSize) == 0); });
  CHECK(back == values);
  back.assign(back.size(), 0);
  const Event ran = run_later(kernel(kAdd), {memory.at(), bits(1000), bits(5)});
  const Event out = retrieve_later(back.data(), memory.at(), kSize, {ran});
  count("cuMemcpyDtoHAsync", [&] { CHECK(out.wait() == 0); });
  CHECK(back[999] == values[999] + 5);
  CHECK(back[1000] == values[1000]);
  CHECK(std::equal(back.begin() + 1000, back.end(), values.begin() + 1000));
  const Event in = submit_later(memory.at(), values.data(), kSize, {out});
  const Event again = retrieve_later(back.data(), memory.at(), kSize, {in});
  CHECK(again.wait() == 0);
  CHECK(back == values);
}
