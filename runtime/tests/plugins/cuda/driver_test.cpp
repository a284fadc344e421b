// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what the plugin asks of the driver for each request.
#include "calls.h"
#include "conformance.h"
#include "driver/driver_api.h"

#include <dlfcn.h>

namespace {

using omptool::cuda::CUcontext;
using omptool::cuda::CUresult;
using Names = std::vector<std::string>;
const std::string kLogIsSet = CallLog::path(); // before the first call

int told_by_fake(const char* function, int kind) {
  void* const fake = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(fake);
  return reinterpret_cast<int (*)(int)>(::dlsym(fake, function))(kind);
}
int device_blocks() {
  return told_by_fake("fake_cuda_blocks", 0);
}
int modules() {
  return told_by_fake("fake_cuda_modules", 0);
}

CallLog& log_since_now() {
  static CallLog log;
  log.lines();
  return log;
}

} // namespace

TEST_CASE("a copy is queued and waited for, and no more") {
  loaded();
  const Memory memory(64);
  char bytes[64] = {};
  CHECK(submit(memory.at(), bytes, sizeof bytes) == 0); // the first may make a stream
  CallLog& log = log_since_now();
  CHECK(submit(memory.at(), bytes, sizeof bytes) == 0);
  CHECK(log.names() == Names{"cuMemcpyHtoDAsync", "cuStreamSynchronize"});
  CHECK(retrieve(bytes, memory.at(), sizeof bytes) == 0);
  CHECK(log.names() == Names{"cuMemcpyDtoHAsync", "cuStreamSynchronize"});
  CHECK(RTL(__tgt_rtl_data_fill)(0, memory.at(), 7, sizeof bytes) == 0);
  CHECK(log.names() == Names{"cuMemsetD8Async", "cuStreamSynchronize"});
  CHECK(submit(memory.at(), bytes, 0) == 0);
  CHECK(log.names().empty());
}

TEST_CASE("small memory is taken and released without a call") {
  loaded();
  {
    const Memory first(100);
  } // makes room for its size
  CallLog& log = log_since_now();
  void* last = nullptr;
  for (int i = 0; i < 100; ++i) {
    const Memory memory(200);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.at()) % 256 == 0);
    last = memory.at();
  }
  CHECK(last);
  CHECK(log.names().empty());
}

TEST_CASE("pieces of small memory do not overlap, whatever their sizes") {
  loaded();
  std::vector<std::pair<std::uintptr_t, std::size_t>> pieces;
  for (std::size_t size = 1; size <= 40'000; size += size / 3 + 1)
    for (int i = 0; i < 3; ++i)
      pieces.emplace_back(
          reinterpret_cast<std::uintptr_t>(RTL(__tgt_rtl_data_alloc)(0, static_cast<std::int64_t>(size))), size);
  std::sort(pieces.begin(), pieces.end());
  for (std::size_t i = 1; i < pieces.size(); ++i)
    CHECK(pieces[i - 1].first + pieces[i - 1].second <= pieces[i].first);
  for (const auto& [begin, size] : pieces)
    CHECK(RTL(__tgt_rtl_data_delete)(0, reinterpret_cast<void*>(begin)) == 0);
}

TEST_CASE("larger memory is kept for what asks for as much, without a call") {
  loaded();
  void* first = nullptr;
  {
    const Memory memory(1'000'000);
    first = memory.at();
  }
  CallLog& log = log_since_now();
  for (const std::size_t size : {1U << 20, 1'000'000U, 990'000U}) {
    const Memory memory(size);
    CHECK(memory.at() == first);
  }
  CHECK(log.names().empty());
  const Memory memory(1 << 20), second(1 << 20);
  CHECK(second.at() != memory.at());
}

TEST_CASE("memory that is kept is not more than a bound, and very large memory goes back") {
  loaded();
  const int before = device_blocks();
  {
    std::vector<std::unique_ptr<Memory>> all;
    for (int i = 0; i < 10; ++i)
      all.push_back(std::make_unique<Memory>(64 << 20));
    CHECK(device_blocks() == before + 10);
  }
  CHECK(device_blocks() <= before + 4);
  CallLog& log = log_since_now();
  {
    const Memory memory((64 << 20) + 1);
    CHECK(log.names() == Names{"cuCtxSetCurrent", "cuMemAlloc"});
  }
  CHECK(log.names() == Names{"cuCtxSetCurrent", "cuMemFree"});
}

TEST_CASE("a kernel is launched with its arguments and waited for") {
  CHECK(run(kNothing, {}) == 0);
  const Memory values(std::vector<int>{1, 2});
  CHECK(run(kAdd, {values.at(), bits(2), bits(3)}) == 0); // the first launch asks for what the kernel is
  CallLog& log = log_since_now();
  CHECK(run(kAdd, {values.at(), bits(2), bits(3)}) == 0);
  const std::vector<std::string> lines = log.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("cuLaunchKernel add 1 1 1 1 1 1 0 "));
  CHECK(lines[0].ends_with(" 0x2 0x3 = 0"));
  CHECK(lines[1].starts_with("cuStreamSynchronize "));
}

TEST_CASE("teams are blocks, and threads are theirs; the device chooses what is left open") {
  const auto run_teams = RTL(__tgt_rtl_run_target_team_region);
  CHECK(run(kNothing, {}) == 0);
  CallLog& log = log_since_now();
  CHECK(run_teams(0, loaded()[kNothing], nullptr, 0, 7, 33) == 0);
  CHECK(run_teams(0, loaded()[kNothing], nullptr, 0, 0, 0) == 0);
  const std::vector<std::string> lines = log.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("cuLaunchKernel nothing 7 1 1 33 1 1 0 "));
  CHECK(lines[2].starts_with("cuLaunchKernel nothing 8 1 1 128 1 1 0 ")); // what the fake's occupancy says
}

TEST_CASE("a shape of three dimensions, with memory of each team's own") {
  CHECK(run(kNothing, {}) == 0);
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  shape.teams[0] = 2, shape.teams[1] = 3, shape.teams[2] = 4;
  shape.threads[0] = 5, shape.threads[1] = 6, shape.threads[2] = 7;
  shape.dynamic_memory = 100'000;
  CallLog& log = log_since_now();
  const auto run_shaped = RTL(__tgt_rtl_run_shaped);
  CHECK(run_shaped(0, loaded()[kNothing], nullptr, 0, &shape) == 0);
  shape.flags = OMPTARGET_SHAPE_COOPERATIVE;
  CHECK(run_shaped(0, loaded()[kNothing], nullptr, 0, &shape) == 0);
  const std::vector<std::string> lines = log.lines();
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "cuCtxSetCurrent 0x1 = 0");
  CHECK(lines[1] == "cuFuncSetAttribute 8 100000 = 0"); // once
  CHECK(lines[2].starts_with("cuLaunchKernel nothing 2 3 4 5 6 7 100000 "));
  CHECK(lines[4].starts_with("cuLaunchCooperativeKernel nothing 2 3 4 5 6 7 100000 "));
}

TEST_CASE("what does not fit on the device is not started, with a reason") {
  const auto run_shaped = RTL(__tgt_rtl_run_shaped);
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  const auto reason_of = [&](void* kernel, std::vector<void*> arguments) {
    CHECK(run_shaped(0, kernel, arguments.data(), static_cast<std::int32_t>(arguments.size()), &shape) ==
          OMPTARGET_RTL_NOT_STARTED);
    return std::string(RTL(__tgt_rtl_last_error)());
  };
  shape.threads[0] = 1025;
  CHECK(reason_of(loaded()[kNothing], {}) == "the launch asks for teams of 1025 threads; the kernel allows 1024");
  shape.threads[0] = 1;
  shape.dynamic_memory = 1 << 20;
  CHECK(reason_of(loaded()[kNothing], {}) ==
        "the launch asks for 1048576 bytes of each team's own memory; the GPU has 232448");
  shape.dynamic_memory = 0;
  shape.teams[1] = 65536;
  CHECK(reason_of(loaded()[kNothing], {}) == "the launch asks for 65536 teams; 65535 are the most");
  shape.teams[1] = 1;
  CHECK(reason_of(loaded()[kAdd], {nullptr}) == "kernel add has 24 bytes of parameters, and gets 8");
  CHECK(reason_of(nullptr, {}) == "a kernel with 0 arguments");
}

TEST_CASE("an image that is released leaves no module") {
  loaded();
  const int before = modules();
  Image image;
  REQUIRE(image.load(0));
  CHECK(modules() == before + 1);
  CHECK(RTL(__tgt_rtl_unload_binary)(0, image.record()) == 0);
  CHECK(modules() == before);
  CHECK(RTL(__tgt_rtl_unload_binary)(0, image.record()) != 0);
}

TEST_CASE("an image that does not fit the host's table leaves no module") {
  loaded();
  const int before = modules();
  const std::string wider = ".version 7.0\n.target sm_70\n.visible .global .u64 counter = 5;\n";
  Image image({wider.begin(), wider.end()});
  CHECK(image.load(0) == nullptr);
  CHECK(std::string(RTL(__tgt_rtl_last_error)()) == "global counter has 4 bytes on the host and 8 in the image");
  CHECK(modules() == before);
}

TEST_CASE("the device's number is stored where the image has a place for it") {
  loaded();
  const std::string text = ".version 7.0\n.target sm_70\n.visible .global .align 4 .u32 __omptool_device_num = 77;\n";
  Image image({text.begin(), text.end()});
  CallLog& log = log_since_now();
  REQUIRE(image.load(0));
  const Names names = log.names();
  CHECK(std::count(names.begin(), names.end(), "cuMemcpyHtoD") == 1);
}

TEST_CASE("a device is described as the driver has it") {
  tgt_device_description said{};
  said.size = sizeof said;
  REQUIRE(RTL(__tgt_rtl_describe_device)(0, &said) == 0);
  CHECK(std::string(said.name) == "FAKE GPU");
  CHECK(std::string(said.architecture) == "sm_90");
  CHECK(said.units == 4);
  CHECK(said.memory == std::uint64_t{1} << 34);
  CHECK(said.threads == 1024);
  CHECK(said.team_memory == 227 << 10);
  CHECK(std::string(said.driver) == "CUDA 12.4");
  CHECK(std::string(said.images) == "PTX, cubin, fatbin, bitcode");
}

TEST_CASE("a context that the program has made current is not used") {
  CHECK(run(kNothing, {}) == 0);
  void* const fake = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto set_current = reinterpret_cast<CUresult (*)(CUcontext)>(::dlsym(fake, "cuCtxSetCurrent"));
  CHECK(set_current(nullptr) == 0);
  CHECK(run(kNothing, {}) == 0);
  CHECK(set_current(nullptr) == 0);
  const Memory memory(std::vector<char>(1 << 20));
  CHECK(set_current(nullptr) == 0);
  CHECK(memory.values<char>(1 << 20) == std::vector<char>(1 << 20));
}
