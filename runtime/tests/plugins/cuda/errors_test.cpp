// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver that is not there, that refuses, or that fails: every call, one after the other.
#include "calls.h"
#include "conformance.h"
#include "support.h"

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// Makes every kind of call that a program does, as far as the device allows.
SCENARIO_OF(whole_life) {
  const OutsideOfTests asserts;
  const std::int32_t count = device_count();
  std::printf("%d devices\n", count);
  Image image;
  if (count == 0 || init_device(0) != 0 || !image.load(0)) {
    const char* const reason = RTL(__tgt_rtl_last_error)();
    std::printf("done: %s\n", reason ? reason : "");
    return 0;
  }
  const std::vector<int> before{1, 2, 3};
  std::vector<int> after(3);
  for (const std::int64_t size : {std::int64_t{12}, std::int64_t{1} << 20}) {
    void* const target = RTL(__tgt_rtl_data_alloc)(0, size);
    void* arguments[] = {target, bits(3), bits(10)};
    if (!target)
      continue;
    const bool sent = submit(target, before.data(), 12) == 0;
    const std::int32_t ran = sent ? RTL(__tgt_rtl_run_target_region)(0, image[kAdd], arguments, 3) : 1;
    if (ran == 0 && retrieve(after.data(), target, 12) == 0)
      EXPECT((after == std::vector<int>{11, 12, 13}));
    RTL(__tgt_rtl_data_delete)(0, target);
  }
  RTL(__tgt_rtl_unload_binary)(0, image.record());
  std::printf("done\n");
  return 0;
}

// Life of a device by the asynchronous functions, in two streams.
SCENARIO_OF(queued_life) {
  const OutsideOfTests asserts;
  RTL(__tgt_rtl_init_dep)([](tgt_event_t) {});
  Image image;
  if (device_count() == 0 || init_device(0) != 0 || !image.load(0)) {
    std::printf("done\n");
    return 0;
  }
  std::vector<int> values{1, 2, 3}, others{4, 5};
  void* const target = RTL(__tgt_rtl_data_alloc)(0, 12);
  void* const neighbour = RTL(__tgt_rtl_data_alloc)(0, 8);
  void* arguments[] = {target, bits(3), bits(10)};
  std::vector<tgt_event_t> events;
  const auto made = [&](std::int32_t result, const tgt_event_t& event) { // which the call has written
    if (result == 0)
      events.push_back(event);
    return result == 0;
  };
  tgt_event_t before[2] = {}, event = nullptr;
  bool goes_on =
      target && made(RTL(__tgt_rtl_async_data_submit)(0, target, values.data(), 12, 0, nullptr, &event), event);
  before[0] = event;
  goes_on = goes_on && neighbour &&
            made(RTL(__tgt_rtl_async_data_submit)(0, neighbour, others.data(), 8, 1, before, &event), event);
  for (int i = 0; goes_on && i < 2; ++i) { // in the same stream, and in another
    before[i] = event;
    goes_on = made(RTL(__tgt_rtl_async_run_target_region)(0, image[kAdd], arguments, 3, i + 1, before, &event), event);
    before[0] = nullptr;
  }
  before[0] = event;
  goes_on = goes_on && made(RTL(__tgt_rtl_async_data_retrieve)(0, values.data(), target, 12, 1, before, &event), event);
  before[0] = event;
  others.assign(2, 0);
  goes_on =
      goes_on && made(RTL(__tgt_rtl_async_data_retrieve)(0, others.data(), neighbour, 8, 1, before, &event), event);
  RTL(__tgt_rtl_process_dep)();
  bool are_right = goes_on;
  for (const tgt_event_t one : std::vector(events.rbegin(), events.rend()))
    are_right = RTL(__tgt_rtl_wait_event)(one) == 0 && are_right;
  if (are_right)
    EXPECT((values == std::vector<int>{21, 22, 23} && others == std::vector<int>{4, 5}));
  for (const tgt_event_t one : events) {
    EXPECT(RTL(__tgt_rtl_query_event)(one) != OMPTARGET_RTL_PENDING);
    RTL(__tgt_rtl_release_dep)(one);
  }
  RTL(__tgt_rtl_data_delete)(0, target);
  RTL(__tgt_rtl_data_delete)(0, neighbour);
  RTL(__tgt_rtl_unload_binary)(0, image.record());
  std::printf("done\n");
  return 0;
}

// Copies of much pageable memory.
SCENARIO_OF(large_life) {
  const OutsideOfTests asserts;
  constexpr std::int64_t kSize = std::int64_t{9} << 20;
  std::vector<char> values(kSize, 'a'), back(kSize, 'b');
  void* const target = init_device(0) == 0 ? RTL(__tgt_rtl_data_alloc)(0, kSize) : nullptr;
  for (int i = 0; target && i < 2; ++i) { // the second time it has what it needs
    const bool is_sent = submit(target, values.data(), kSize) == 0;
    if (is_sent && retrieve(back.data(), target, kSize) == 0)
      EXPECT(back == values);
    else
      std::printf("failed: %s\n", RTL(__tgt_rtl_last_error)());
  }
  if (target)
    RTL(__tgt_rtl_data_delete)(0, target);
  std::printf("done\n");
  return 0;
}

// Launches of one kernel by programs of LLVM 19 and of LLVM 20.
SCENARIO_OF(named_shapes) {
  const OutsideOfTests asserts;
  Image image;
  EXPECT(init_device(0) == 0 && image.load(0));
  tgt_launch_shape shape{sizeof shape, 0, 0, 0, {2, 3, 1}, {32, 2, 1}};
  for (const std::uint32_t flags : {0U, static_cast<std::uint32_t>(OMPTARGET_SHAPE_NAMES_DIMENSIONS)}) {
    shape.flags = flags;
    EXPECT(RTL(__tgt_rtl_run_shaped)(0, image[kNothing], nullptr, 0, &shape) == 0);
  }
  return 0;
}

int device_blocks() {
  void* const fake = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<int (*)(int)>(::dlsym(fake, "fake_cuda_blocks"))(0);
}

// An image of clang's with a table of indirect calls.
SCENARIO_OF(indirect_life) {
  const OutsideOfTests asserts;
  const std::string text = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".weak .const .align 8 .b8 __omp_rtl_device_environment[48];\n"
                           ".visible .global .align 8 .u64 __omp_offloading_1_2_one_l3 = 1001;\n";
  std::vector<char> bytes(text.begin(), text.end());
  char host = 0, name[] = "__omp_offloading_1_2_one_l3", empty[] = "";
  __tgt_offload_entry entry{&host, name, 8};
  __tgt_device_image image{bytes.data(), bytes.data() + bytes.size(), &entry, &entry + 1};
  if (init_device(0) != 0) {
    std::printf("done\n");
    return 0;
  }
  RTL(__tgt_rtl_reaches_host_memory)(0);
  const int before = device_blocks();
  const std::int64_t extent = 8;
  const bool is_loaded = RTL(__tgt_rtl_load_indirect)(0, &image, &extent) != nullptr;
  const bool is_unloaded = is_loaded && RTL(__tgt_rtl_unload_binary)(0, &image) == 0;
  EXPECT((is_loaded && !is_unloaded) || device_blocks() == before);
  entry.name = empty;
  EXPECT(!RTL(__tgt_rtl_load_binary)(0, &image));
  std::printf("done: %s\n", RTL(__tgt_rtl_last_error)());
  return 0;
}

// Checks the reasons that a chain of operations has when a driver call fails.
SCENARIO_OF(reasons_of_events) {
  const OutsideOfTests asserts;
  Image image;
  EXPECT((init_device(0) == 0 && image.load(0)));
  int value = 1;
  void* const memory = RTL(__tgt_rtl_data_alloc)(0, sizeof value);
  tgt_event_t events[3] = {};
  std::int32_t results[3] = {RTL(__tgt_rtl_async_data_submit)(0, memory, &value, sizeof value, 0, nullptr, &events[0])};
  results[1] =
      RTL(__tgt_rtl_async_run_target_region)(0, image[kNothing], nullptr, 0, events[0] ? 1 : 0, events, &events[1]);
  if (results[1] == 0)
    results[2] = RTL(__tgt_rtl_async_dep)(0, 1, &events[1], &events[2]);
  for (const char* const stage : {"call", "wait"})
    for (int i = 2; i >= 0; --i) {
      if (*stage == 'w' && events[i])
        results[i] = RTL(__tgt_rtl_wait_event)(events[i]);
      const char* const reason = RTL(__tgt_rtl_last_error)();
      std::printf("%s %d: %d %s\n", stage, i, results[i], results[i] && reason ? reason : "");
    }
  return 0;
}

SCENARIO_OF(reason_of_copy_back) {
  const OutsideOfTests asserts;
  Image image;
  EXPECT((init_device(0) == 0 && image.load(0)));
  int value = 1;
  void* const memory = RTL(__tgt_rtl_data_alloc)(0, sizeof value);
  tgt_event_t ran = nullptr, copied = nullptr;
  EXPECT(RTL(__tgt_rtl_async_run_target_region)(0, image[kNothing], nullptr, 0, 0, nullptr, &ran) == 0);
  EXPECT(RTL(__tgt_rtl_async_data_retrieve)(0, &value, memory, sizeof value, 1, &ran, &copied) == 0);
  const std::int32_t result = RTL(__tgt_rtl_wait_event)(copied);
  std::printf("%d %s\n", result, RTL(__tgt_rtl_last_error)());
  return 0;
}

// Checks the plugin's reasons when it cannot do something.
SCENARIO_OF(reasons) {
  const OutsideOfTests asserts;
  Image image;
  const auto say = [](const char* what, int result) { // evaluated before the reason is asked for
    const char* const reason = RTL(__tgt_rtl_last_error)();
    std::printf("%s %d: %s\n", what, result, reason ? reason : "");
  };
  say("count", device_count());
  say("valid", image.is_valid());
  if (device_count() == 0 || init_device(0) != 0)
    return 0;
  say("load", image.load(0) != nullptr);
  if (!image.is_loaded())
    return 0;
  void* const memory = RTL(__tgt_rtl_data_alloc)(0, 1 << 20);
  say("memory", memory != nullptr);
  say("run", RTL(__tgt_rtl_run_target_region)(0, image[kNothing], nullptr, 0));
  int value = 0;
  say("copy", memory ? submit(memory, &value, sizeof value) : 0);
  return 0;
}

// Uses up the driver's 200 MiB: cached memory of the plugin is freed when it is needed.
SCENARIO_OF(little_memory) {
  const OutsideOfTests asserts;
  EXPECT(init_device(0) == 0);
  const auto allocate = [](std::int64_t mebibytes) { return RTL(__tgt_rtl_data_alloc)(0, mebibytes << 20); };
  std::vector<void*> blocks{allocate(40), allocate(50), allocate(60), RTL(__tgt_rtl_data_alloc)(0, 100)};
  for (void* const one : blocks) {
    EXPECT(one != nullptr);
    EXPECT(RTL(__tgt_rtl_data_delete)(0, one) == 0);
  }
  void* const large = allocate(200);
  EXPECT(large != nullptr);
  EXPECT(allocate(1) == nullptr);
  std::printf("%s\n", RTL(__tgt_rtl_last_error)());
  EXPECT(RTL(__tgt_rtl_data_delete)(0, large) == 0);
  EXPECT(RTL(__tgt_rtl_data_alloc)(0, 100) != nullptr);
  return 0;
}

// Makes all driver calls that may allocate device memory, while 100 MiB of 200 are cached.
SCENARIO_OF(memory_for_others) {
  const OutsideOfTests asserts;
  EXPECT(init_device(0) == 0);
  for (void* const one : {RTL(__tgt_rtl_data_alloc)(0, 50 << 20), RTL(__tgt_rtl_data_alloc)(0, 50 << 20)})
    EXPECT(RTL(__tgt_rtl_data_delete)(0, one) == 0);
  void* const shared = RTL(__tgt_rtl_memory_alloc)(0, 150 << 20, OMPTARGET_MEMORY_SHARED);
  std::printf("shared %d\n", shared != nullptr);
  void* const host = RTL(__tgt_rtl_memory_alloc)(0, 100, OMPTARGET_MEMORY_HOST);
  std::printf("host %d\n", host != nullptr);
  std::vector<char> bytes(100);
  std::printf("locked %d\n", RTL(__tgt_rtl_host_lock)(0, bytes.data(), 100) != nullptr);
  Image image;
  std::printf("load %d\n", image.load(0) != nullptr);
  std::printf("run %d\n", image.is_loaded() ? RTL(__tgt_rtl_run_target_region)(0, image[kNothing], nullptr, 0) : -1);
  return 0;
}

SCENARIO_OF(look_at_an_image) {
  const OutsideOfTests asserts;
  CallLog::path();
  EXPECT(Image().is_valid());
  EXPECT(!Image(std::vector<char>(100)).is_valid());
  EXPECT(CallLog().lines().empty());
  EXPECT(!::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
  return 0;
}

SCENARIO_OF(child_after_fork) {
  const OutsideOfTests asserts;
  EXPECT(init_device(0) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_right = device_count() == 0 && init_device(0) != 0 && !RTL(__tgt_rtl_data_alloc)(0, 8) &&
                          std::string(RTL(__tgt_rtl_last_error)()).find("has forked") != std::string::npos;
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  EXPECT(::waitpid(child, &status, 0) == child);
  EXPECT((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  EXPECT(init_device(0) == 0);
  return 0;
}

// Results that the driver fails with, some of which end a context.
constexpr const char* kResults[] = {"FAKE_CUDA_FAIL_WITH=2", "FAKE_CUDA_FAIL_WITH=700", "FAKE_CUDA_FAIL_WITH=4"};
#ifdef SANITIZED
constexpr int kStep = 11;
#else
constexpr int kStep = 1;
#endif

} // namespace

// Until no call fails any more.
void fail_each(const char* life, int step, const std::vector<std::string>& environment) {
  for (int at = 1;; at += step) {
    REQUIRE(at < 200);
    std::vector<std::string> all = environment;
    all.push_back("FAKE_CUDA_FAIL_AT=" + std::to_string(at));
    const Outcome outcome = run_scenario(life, all);
    INFO(life << ", call " << at << ", " << all[0] << ", " << all[1] << ": " << outcome.output);
    CHECK(outcome.code == 0);
    CHECK(outcome.has("done"));
    const bool failed = outcome.has("FAKE: call");
    std::string rest = outcome.output;
    if (failed)
      rest.erase(rest.find("FAKE: call"), 10);
    CHECK(rest.find("FAKE: ") == std::string::npos);
    if (!failed)
      return; // fewer calls than that
  }
}

TEST_CASE("whichever call of the driver fails, nothing crashes and nothing is used wrongly") {
  for (const char* const life : {"whole_life", "queued_life"})
    for (const std::string result : kResults)
      for (const std::string stay : {"FAKE_CUDA_FAIL_ON=0", "FAKE_CUDA_FAIL_ON=1"})
        fail_each(life, kStep, {result, stay});
}

TEST_CASE("whichever call for a table of indirect calls fails, nothing is left") {
  for (const std::string function : {"cuDeviceGetAttribute", "cuModuleGetGlobal", "cuMemAlloc", "cuMemcpyDtoH",
                                     "cuMemcpyHtoD", "cuMemFree", "cuModuleUnload"})
    fail_each("indirect_life", 1, {"FAKE_CUDA_FAIL_IN=" + function, kResults[0]});
}

TEST_CASE("whichever call for a large copy fails, the copy fails or is right") {
  std::size_t turn = 0;
  for (const std::string function : {"cuPointerGetAttributes", "cuMemHostAlloc", "cuStreamCreate", "cuCtxSetCurrent",
                                     "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize"})
    fail_each("large_life", kStep, {"FAKE_CUDA_FAIL_IN=" + function, kResults[turn++ % std::size(kResults)]});
}

TEST_CASE("a large copy goes without buffers where there is no page-locked memory") {
  const Outcome outcome = run_scenario("large_life", {"FAKE_CUDA_FAIL_IN=cuMemHostAlloc", "FAKE_CUDA_FAIL_AT=1",
                                                      "FAKE_CUDA_FAIL_ON=1", "FAKE_CUDA_FAIL_WITH=2"});
  CHECK(outcome.code == 0);
  CHECK(!outcome.has("failed"));
}

TEST_CASE("an image for entries without names is refused") {
  CHECK(run_scenario("indirect_life")
            .has("done: the host's entries have no names, and the driver finds those of a "
                 "GPU's image by name only"));
}

TEST_CASE("without a driver there is no device, and the reason is said") {
  const Outcome outcome = run_scenario("reasons", {"LD_LIBRARY_PATH="});
  if (outcome.has("count 0"))
    CHECK(outcome.has("count 0: no NVIDIA driver: libcuda.so.1"));
  CHECK(outcome.code == 0);
}

TEST_CASE("a driver without a device says so") {
  const Outcome outcome = run_scenario("reasons", {"FAKE_CUDA_DEVICES=0"});
  CHECK(outcome.has("count 0: cuInit: CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected"));
  CHECK(outcome.has("valid 1: ")); // the image is its own, so that a region gets that reason
}

TEST_CASE("an image for a newer GPU is refused by name") {
  const Outcome outcome = run_scenario("reasons", {"FAKE_CUDA_ARCH=60"});
  CHECK(outcome.has("valid 0: the image is for PTX for sm_70, the GPU is sm_60"));
  CHECK(outcome.has("load 0: the image is for PTX for sm_70, the GPU is sm_60"));
}

TEST_CASE("PTX that is too new for the driver is refused by its version") {
  const Outcome outcome = run_scenario("reasons", {"FAKE_CUDA_VERSION=10020"}); // which only a fake has
  for (const char* call : {"valid 0", "load 0"})
    CHECK(
        outcome.has(call + std::string(": the image is PTX 7.0, which needs a driver of CUDA 11.0; this one is of CUDA "
                                       "10.2")));
}

TEST_CASE("what the driver's compiler says of PTX that it does not know is part of the reason, in one line") {
  const Outcome outcome = run_scenario("reasons", {"FAKE_CUDA_PTX=63"});
  CHECK(outcome.has("load 0: the image cannot be loaded: cuModuleLoadDataEx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION, the "
                    "provided PTX was compiled with an unsupported toolchain.: ptxas application ptx input, line 1; "
                    "fatal : Unsupported .version; current version is '6.3'"));
}

TEST_CASE("errors name the driver's call, its error and the entry") {
  const auto when = [](const char* function, const char* result) {
    return run_scenario("reasons", {std::string("FAKE_CUDA_FAIL_IN=") + function, "FAKE_CUDA_FAIL_AT=1",
                                    "FAKE_CUDA_FAIL_ON=1", std::string("FAKE_CUDA_FAIL_WITH=") + result});
  };
  CHECK(when("cuMemAlloc", "2")
            .has("memory 0: no memory for 1048576 bytes: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY, out of "
                 "memory"));
  CHECK(when("cuLaunchKernel", "701").has("run 2: kernel nothing: cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
  CHECK(when("cuMemcpyHtoDAsync", "1").has("copy 1: a copy to the GPU of 4 bytes: cuMemcpyHtoDAsync_v2: "));
  CHECK(when("cuModuleGetFunction", "999").has("load 0: kernel add: cuModuleGetFunction: CUDA_ERROR_UNKNOWN"));
}

TEST_CASE("a kernel that faults is named, and its device is lost") {
  const Outcome outcome = run_scenario("reasons", {"FAKE_CUDA_FAULT=nothing"});
  CHECK(outcome.has("run 3: kernel nothing: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access "
                    "was encountered"));
  CHECK(outcome.has("copy 3: "));
}

TEST_CASE("events name the driver's call, its error and the entry") {
  const Outcome refused = run_scenario(
      "reasons_of_events", {"FAKE_CUDA_FAIL_IN=cuLaunchKernel", "FAKE_CUDA_FAIL_AT=1", "FAKE_CUDA_FAIL_WITH=701"});
  CHECK(refused.has("call 1: 2 kernel nothing: cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
  CHECK(refused.has("wait 0: 0 \n"));
  const Outcome faulty = run_scenario("reasons_of_events", {"FAKE_CUDA_FAULT=nothing"});
  CHECK(faulty.has("wait 2: 3 kernel nothing: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory"));
  CHECK(faulty.has("wait 1: 3 kernel nothing: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory"));
  CHECK(faulty.has("wait 0: 0 \n")); // a copy before it
}

TEST_CASE("a kernel does not begin when the driver does not take the copies before it") {
  const Outcome outcome = run_scenario(
      "reasons_of_events", {"FAKE_CUDA_FAIL_IN=cuMemcpyHtoDAsync", "FAKE_CUDA_FAIL_AT=1", "FAKE_CUDA_FAIL_WITH=1"});
  CHECK(outcome.has("call 1: 1 a copy to the GPU of 4 bytes: cuMemcpyHtoDAsync_v2: CUDA_ERROR_INVALID_VALUE"));
  CHECK(outcome.has("call 0: 0 \n"));
  CHECK(outcome.has("wait 0: 1 a copy to the GPU of 4 bytes: cuMemcpyHtoDAsync_v2: CUDA_ERROR_INVALID_VALUE"));
}

TEST_CASE("a copy back behind a kernel that faults names the kernel") {
  const Outcome outcome = run_scenario("reason_of_copy_back", {"FAKE_CUDA_FAULT=nothing"});
  CHECK(outcome.has("3 kernel nothing: cu")); // the call that says so is whichever comes first
  CHECK(outcome.has(": CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered\n"));
}

TEST_CASE("the line about a launch names dimensions as the program's release of LLVM does") {
  const Outcome outcome = run_scenario("named_shapes", {"LIBOMPTARGET_INFO=16"});
  const std::string begin = "\"PluginInterface\" device 0 info: Launching kernel nothing with ";
  CHECK_MESSAGE(outcome.has(begin + "6 blocks and 64 threads in Bare mode\n"), outcome.output);
  CHECK_MESSAGE(outcome.has(begin + "[2,3,1] blocks and [32,2,1] threads in Bare mode\n"), outcome.output);
  CHECK(run_scenario("named_shapes", {"LIBOMPTARGET_INFO=1"}).output.empty());
}

TEST_CASE("memory that is kept is given back when the driver has no more") {
  const Outcome outcome = run_scenario("little_memory", {"FAKE_CUDA_MEMORY=200"});
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(outcome.has("no memory for 1048576 bytes: cuMemAlloc"));
  CHECK(outcome.has("CUDA_ERROR_OUT_OF_MEMORY, out of memory"));
}

TEST_CASE("whatever takes memory gets what is kept, and is asked for once more") {
  const std::string right = "shared 1\nhost 1\nlocked 1\nload 1\nrun 0\n";
  CHECK(run_scenario("memory_for_others", {"FAKE_CUDA_MEMORY=200"}).output == right);
  for (const auto& [function, at] :
       {std::pair{"cuMemAllocManaged", 1}, std::pair{"cuMemHostAlloc", 1}, std::pair{"cuMemHostRegister", 1},
        std::pair{"cuModuleLoadDataEx", 1}, std::pair{"cuModuleGetFunction", 2}, std::pair{"cuStreamCreate", 1},
        std::pair{"cuLaunchKernel", 1}, std::pair{"cuMemAlloc", 2}}) {
    const Outcome outcome =
        run_scenario("memory_for_others", {std::string("FAKE_CUDA_FAIL_IN=") + function,
                                           "FAKE_CUDA_FAIL_AT=" + std::to_string(at), "FAKE_CUDA_FAIL_WITH=2"});
    INFO(function << ": " << outcome.output);
    CHECK(outcome.has("FAKE: call"));
    CHECK(outcome.has(right));
  }
}

TEST_CASE("a child of fork has no devices, and its parent keeps them") {
  CHECK(run_scenario("child_after_fork").code == 0);
}

TEST_CASE("to look at an image's bytes opens no driver") {
  CHECK(run_scenario("look_at_an_image").code == 0);
}
