// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what the plugin's asynchronous functions ask of the driver.
#include "calls.h"
#include "conformance_queues.h"

#include <dlfcn.h>

namespace {

using Names = std::vector<std::string>;

int of_fake(const char* function) {
  void* const fake = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(fake);
  return reinterpret_cast<int (*)(int)>(::dlsym(fake, function))(0);
}

// Copies in, a kernel, copies back, one wait: what the core makes of a construct.
void run_region(const Memory& memory) {
  int values[] = {1, 2};
  const Event in = submit_later(memory.at(), values, sizeof values);
  const Event ran = run_later(kernel(kAdd), {memory.at(), bits(2), bits(10)}, {in});
  const Event out = retrieve_later(values, memory.at(), sizeof values, {ran});
  CHECK(out.wait() == 0);
  CHECK_FALSE(in.is_pending());
  CHECK(values[1] == 12);
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

TEST_CASE("a region is its copies, its kernel and one wait") {
  const Memory memory(2 * sizeof(int));
  run_region(memory); // the first launch asks for what the kernel is
  const Names calls{"cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync", "cuStreamSynchronize"};
  CHECK(names_of([&] { run_region(memory); }) == calls);
}

TEST_CASE("streams and events are used again") {
  const Memory memory(2 * sizeof(int));
  const auto run_some = [&] {
    for (int i = 0; i < 20; ++i) {
      run_region(memory);
      const Event first = run_later(kernel(kNothing), {}), second = run_later(kernel(kNothing), {}, {nullptr, first});
      CHECK(second.wait() == 0);
      CHECK(first.wait() == 0);
    }
  };
  run_some();
  const int streams = of_fake("fake_cuda_streams"), events = of_fake("fake_cuda_events");
  run_some();
  CHECK(of_fake("fake_cuda_streams") == streams);
  CHECK(of_fake("fake_cuda_events") == events);
}

TEST_CASE("an event is recorded where another stream has to wait, and once") {
  const Held held;
  Event behind = run_later(kernel(kNothing), {}, {held});
  const auto waits = [&] { CHECK(run_later(kernel(kNothing), {}, {nullptr, behind}).is_pending()); };
  const Names first = names_of(waits), second = names_of(waits);
  CHECK(count_in(first, "cuEventRecord") == 1);
  CHECK(count_in(first, "cuStreamWaitEvent") == 1);
  CHECK(count_in(second, "cuEventRecord") == 0);
  CHECK(count_in(second, "cuStreamWaitEvent") == 1);
  held.open();
  CHECK(behind.wait() == 0);
}

TEST_CASE("what waits for others makes no call when they are done") {
  const Event done = run_later(kernel(kNothing), {});
  CHECK(done.wait() == 0);
  CHECK(names_of([&] {
          const Event joined = join({done, done, nullptr});
          CHECK(joined.wait() == 0);
          const Event empty = submit_later(nullptr, nullptr, 0, {nullptr, joined});
          CHECK(empty.wait() == 0);
        }).empty());
}

TEST_CASE("a copy to pageable memory does not hold up the call, nor what is asked for behind it") {
  const Memory memory(std::vector<int>{1, 2});
  int values[2] = {};
  const Held held;
  const Event out = retrieve_later(values, memory.at(), sizeof values, {held});
  const Event ran = run_later(kernel(kAdd), {memory.at(), bits(2), bits(1)}, {out});
  const Event again = submit_later(memory.at(), values, sizeof values, {nullptr, ran});
  CHECK(count_in(names_of([&] { CHECK(again.is_pending()); }), "cuMemcpyDtoHAsync") == 0);
  held.open();
  again.await_callback(); // nobody waits: to ask is enough
  CHECK(values[0] == 1);
  CHECK(memory.values<int>(2) == std::vector<int>{1, 2});
}

TEST_CASE("a copy to page-locked memory goes into the stream at once") {
  const Memory memory(std::vector<int>{1, 2});
  constexpr std::int64_t kSize = 2 * sizeof(int);
  auto* const values = static_cast<int*>(RTL(__tgt_rtl_memory_alloc)(0, kSize, OMPTARGET_MEMORY_HOST));
  REQUIRE(values);
  {
    const Held held;
    CallLog log;
    log.lines();
    const Event out = retrieve_later(values, memory.at(), kSize, {held});
    CHECK(log.names() == Names{"cuMemcpyDtoHAsync"});
    held.open();
    CHECK(out.wait() == 0);
  }
  CHECK(values[1] == 2);
  CHECK(RTL(__tgt_rtl_memory_free)(0, values, OMPTARGET_MEMORY_HOST) == 0);
}

TEST_CASE("memory that is locked is the driver's until it is unlocked") {
  loaded();
  std::vector<int> values(1000);
  const auto size = static_cast<std::int64_t>(values.size() * sizeof(int));
  CHECK(RTL(__tgt_rtl_host_lock)(0, values.data(), size));
  CHECK_FALSE(RTL(__tgt_rtl_host_lock)(0, values.data(), size)); // the driver refuses
  check_reason();
  CHECK_FALSE(RTL(__tgt_rtl_host_lock)(0, values.data(), 0));
  CHECK(RTL(__tgt_rtl_host_unlock)(0, values.data()) == 0);
  CHECK(RTL(__tgt_rtl_host_unlock)(0, values.data()) != 0);
  check_reason();
}
