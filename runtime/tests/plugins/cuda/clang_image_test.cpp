// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images with the data that clang's OpenMP code for nvptx has beside its kernels. The fake driver does not run them.
#include "calls.h"
#include "clang_image.h"
#include "conformance.h"

#include <algorithm>

namespace {

// Image with a passing kernel, unloaded by its destructor, because the plugin identifies images by their records.
struct PassingImage : Image {
  using Image::Image;
  ~PassingImage() {
    if (is_loaded())
      unload();
  }
};

using Lines = std::vector<std::string>;

std::string text_of_head() {
  return ".version 7.0\n.target sm_70\n.address_size 64\n";
}
std::string kernel(const std::string& name, int parameters) {
  std::string list;
  for (int i = 0; i < parameters; ++i)
    list += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
  return ".visible .entry " + name + "(" + list + ") { ret; }\n";
}
// Environment of a kernel: mode, threads, teams, bytes and number of elements of a reduction.
std::string environment_of(const std::string& name, int mode, int reduction_size, int reduction_length) {
  return ".weak .const .align 8 .b32 " + name + "_kernel_environment[12] = {" + std::to_string(mode << 16) +
         ", 1, 0, 0, 0, " + std::to_string(reduction_size) + ", " + std::to_string(reduction_length) +
         ", 0, 0, 0, 0, 0};\n";
}
// Environment since clang 23.
std::string environment23_of(const std::string& name, int mode, int reduction_size, int words = 10) {
  return ".weak .const .align 8 .b32 " + name + "_kernel_environment[" + std::to_string(words) + "] = {" +
         std::to_string(mode << 16) + ", 1, 0, 0, 0, " + std::to_string(reduction_size) + "};\n";
}
const std::string kDevice18 = ".weak .const .align 8 .b8 __omp_rtl_device_environment[48];\n";
const std::string kDevice16 = ".weak .const .align 8 .b8 __omp_rtl_device_environment[16];\n";
const std::string kDevice14 = ".weak .const .align 8 .b8 omptarget_device_environment[16];\n";

Lines with(const Lines& lines, const std::string& beginning) {
  Lines found;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(found),
               [&](const std::string& line) { return line.starts_with(beginning); });
  return found;
}

Lines loading(Image& image) {
  REQUIRE(init_device(0) == 0);
  CallLog log;
  log.lines();
  REQUIRE(image.load(0));
  return log.lines();
}

Lines launching(const Image& image, Entry entry, std::vector<void*> arguments, std::uint64_t trips,
                std::uint32_t flags = 0, std::uint64_t memory = 0) {
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  shape.flags = flags;
  shape.trip_count = trips;
  shape.dynamic_memory = memory;
  const auto run_shaped = RTL(__tgt_rtl_run_shaped);
  const auto count = static_cast<std::int32_t>(arguments.size());
  REQUIRE(run_shaped(0, image[entry], arguments.data(), count, &shape) == 0); // asks for what the kernel is
  CallLog log;
  log.lines();
  REQUIRE(run_shaped(0, image[entry], arguments.data(), count, &shape) == 0);
  return log.lines();
}

std::vector<char> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

} // namespace

TEST_CASE("the device's environment is stored as far as the image has room for it") {
  PassingImage image18(bytes_of(text_of_head() + kDevice18)), image16(bytes_of(text_of_head() + kDevice16)),
      image14(bytes_of(text_of_head() + kDevice14)), portable(bytes_of(text_of_head()));
  const auto stored = [](Image& image) {
    const Lines lines = with(loading(image), "cuMemcpyHtoD ");
    return lines.size() == 1 ? lines[0].substr(lines[0].rfind(' ', lines[0].size() - 5)) : "";
  };
  CHECK(stored(image18) == " 48 = 0");
  CHECK(stored(image16) == " 16 = 0");
  CHECK(stored(image14) == " 16 = 0");
  CHECK(with(loading(portable), "cuMemcpyHtoD ").empty());
}

TEST_CASE("a kernel of clang 18 and later gets a word in place of the environment that it does not use") {
  PassingImage image(bytes_of(text_of_head() + kDevice18 + environment_of("absent", 2, 0, 0) + kernel("absent", 3)));
  loading(image);
  const Lines lines = launching(image, kAbsent, {nullptr, bits(8), bits(9)}, 1000, OMPTARGET_SHAPE_ENVIRONMENT_FIRST);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("cuLaunchKernel absent 32 1 1 32 1 1 0 "));
  CHECK(lines[0].ends_with(" 0xffffffffffffffff 0x8 0x9 = 0"));
  CHECK(launching(image, kAbsent, {bits(8), bits(9)}, 1000)[0].ends_with(" 0xffffffffffffffff 0x8 0x9 = 0"));
}

TEST_CASE("a kernel with a reduction is lent an environment and a buffer, without a call for the memory") {
  PassingImage image(bytes_of(text_of_head() + kDevice18 + environment_of("absent", 2, 8, 64) + kernel("absent", 2)));
  loading(image);
  const Lines lines = launching(image, kAbsent, {bits(8)}, 1000);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("cuMemcpyHtoDAsync "));
  CHECK(lines[0].find(" 16 0x") != std::string::npos);
  CHECK(lines[1].starts_with("cuLaunchKernel absent "));
  CHECK(lines[1].find("0xffffffffffffffff") == std::string::npos);
  CHECK(lines[1].ends_with(" 0x8 = 0"));
  CHECK(lines[2].starts_with("cuStreamSynchronize "));
}

TEST_CASE("a kernel of clang 23 gets the word for its environment last, wherever the call has it") {
  PassingImage image23(bytes_of(text_of_head() + kDevice18 + environment23_of("absent", 2, 0) + kernel("absent", 3)));
  loading(image23);
  const Lines last = launching(image23, kAbsent, {bits(8), bits(9), nullptr}, 1000, OMPTARGET_SHAPE_ENVIRONMENT_LAST);
  REQUIRE(last.size() == 2);
  CHECK(last[0].ends_with(" 0x8 0x9 0xffffffffffffffff = 0"));
  const Lines first = launching(image23, kAbsent, {nullptr, bits(8), bits(9)}, 1000, OMPTARGET_SHAPE_ENVIRONMENT_FIRST);
  CHECK(first[0].ends_with(" 0x8 0x9 0xffffffffffffffff = 0"));
  PassingImage image22(bytes_of(text_of_head() + kDevice18 + environment_of("absent", 2, 0, 0) + kernel("absent", 3)));
  loading(image22);
  const Lines other = launching(image22, kAbsent, {bits(8), bits(9), nullptr}, 1000, OMPTARGET_SHAPE_ENVIRONMENT_LAST);
  CHECK(other[0].ends_with(" 0xffffffffffffffff 0x8 0x9 = 0"));
}

// Lent words of the launch's environment, which has 32 bytes.
static std::vector<std::uint64_t> lent(const Lines& lines) {
  REQUIRE(lines.size() == 3);
  REQUIRE(lines[0].starts_with("cuMemcpyHtoDAsync "));
  CHECK(lines[0].find(" 32 0x") != std::string::npos);
  std::vector<std::uint64_t> words(4);
  REQUIRE(retrieve(words.data(), reinterpret_cast<void*>(std::stoull(lines[0].substr(18), nullptr, 0)), 32) == 0);
  return words;
}

TEST_CASE("a kernel of clang 23 with a reduction is lent room for each team of the launch") {
  PassingImage image(bytes_of(text_of_head() + kDevice18 + environment23_of("absent", 2, 8) + kernel("absent", 2)));
  loading(image);
  const Lines lines = launching(image, kAbsent, {bits(8)}, 1000);
  CHECK(lines[1].starts_with("cuLaunchKernel absent 32 1 1 32 1 1 0 "));
  CHECK(lines[1].find(" 0x8 0x") != std::string::npos);
  CHECK(lines[1].find("0xffffffffffffffff") == std::string::npos);
  const std::vector<std::uint64_t> words = lent(lines);
  CHECK(words[0] % 256 == 0);
  CHECK(std::vector<std::uint64_t>(words.begin() + 1, words.end()) == std::vector<std::uint64_t>{0, 0, 0});
}

TEST_CASE("a kernel of clang 23 is told of the memory that it has asked for") {
  PassingImage image(bytes_of(text_of_head() + kDevice18 + environment23_of("absent", 2, 0) + kernel("absent", 1)));
  loading(image);
  constexpr std::uint64_t kLittle = 1000, kMuch = 100'000'000;
  const Lines own = launching(image, kAbsent, {}, 64, OMPTARGET_SHAPE_MEMORY_OR_DEVICE, kLittle);
  CHECK(own[1].starts_with("cuLaunchKernel absent 2 1 1 32 1 1 1000 "));
  CHECK(lent(own) == std::vector<std::uint64_t>{0, 0, kLittle << 32, 0});
  const Lines none = launching(image, kAbsent, {}, 64, OMPTARGET_SHAPE_MEMORY_OR_NULL, kMuch);
  CHECK(none[1].starts_with("cuLaunchKernel absent 2 1 1 32 1 1 0 "));
  CHECK(lent(none) == std::vector<std::uint64_t>{0, 0, kMuch << 32, 1});
  const Lines devices = launching(image, kAbsent, {}, 64, OMPTARGET_SHAPE_MEMORY_OR_DEVICE, kMuch);
  CHECK(with(devices, "cuMemAlloc " + std::to_string(256 + 2 * kMuch) + " ").size() == 1);
  CHECK(with(devices, "cuLaunchKernel absent 2 1 1 32 1 1 0 ").size() == 1);
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  shape.dynamic_memory = kMuch;
  CHECK(RTL(__tgt_rtl_run_shaped)(0, image[kAbsent], nullptr, 0, &shape) == OMPTARGET_RTL_NOT_STARTED);
}

TEST_CASE("a kernel whose environment is of no known size does not start, and says so") {
  PassingImage image(bytes_of(text_of_head() + kDevice18 + environment23_of("absent", 2, 0, 14) + kernel("absent", 1)));
  loading(image);
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  void* argument = nullptr;
  CHECK(RTL(__tgt_rtl_run_shaped)(0, image[kAbsent], &argument, 1, &shape) == OMPTARGET_RTL_NOT_STARTED);
  CHECK(std::string(RTL(__tgt_rtl_last_error)()) ==
        "kernel absent has an environment of 56 bytes, which no clang up to 24 writes");
}

TEST_CASE("kernels of clang 14 to 17 take no environment, and run in their mode") {
  for (const std::string& device : {kDevice16, kDevice14}) {
    PassingImage image(
        bytes_of(text_of_head() + device + ".weak .global .align 1 .u8 absent_exec_mode = 1;\n" + kernel("absent", 1)));
    loading(image);
    const Lines lines = launching(image, kAbsent, {bits(8)}, 20);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with("cuLaunchKernel absent 20 1 1 128 1 1 0 "));
    CHECK(lines[0].ends_with(" 0x8 = 0"));
    const Lines first = launching(image, kAbsent, {nullptr, bits(8)}, 20, OMPTARGET_SHAPE_ENVIRONMENT_FIRST);
    CHECK(first[0].ends_with(" 0x8 = 0"));
    const Lines last = launching(image, kAbsent, {bits(8), nullptr}, 20, OMPTARGET_SHAPE_ENVIRONMENT_LAST);
    CHECK(last[0].ends_with(" 0x8 = 0"));
  }
}

TEST_CASE("constructors run in the order of their numbers when the image is loaded, destructors when it goes") {
  const auto object = [](const std::string& name) { return ".visible .global .align 8 .u64 " + name + " = 4711;\n"; };
  const std::string bounds = object("__init_array_start") + object("__init_array_end") + object("__fini_array_start") +
                             object("__fini_array_end");
  PassingImage image(bytes_of(text_of_head() + kDevice18 + bounds + object("__init_array_object_b_1f_101") +
                              object("__init_array_object_a_1f_65535") + object("__fini_array_object_a_1f_65535") +
                              kernel("nvptx$device$init", 0) + kernel("nvptx$device$fini", 0)));
  const Lines lines = loading(image);
  CHECK(with(lines, "cuLaunchKernel nvptx$device$init 1 1 1 1 1 1 0 ").size() == 1);
  CHECK(with(lines, "cuMemAlloc 16 ").size() == 1);
  CHECK(with(lines, "cuMemFree ").size() == 1);
  CHECK(with(lines, "cuLaunchKernel nvptx$device$fini").empty());
  CallLog log;
  log.lines();
  image.unload();
  CHECK(with(log.lines(), "cuLaunchKernel nvptx$device$fini 1 1 1 1 1 1 0 ").size() == 1);
}

// Entries of their own, as clang has them for `declare target indirect` and, since 22, for virtual tables.
TEST_CASE("kernels get a table of what they find by the host's addresses, in the order of those") {
  const auto pointer = [](const std::string& name, int value) {
    return ".visible .global .align 8 .u64 " + name + " = " + std::to_string(value) + ";\n";
  };
  std::vector<char> bytes =
      bytes_of(text_of_head() + kDevice18 + pointer("__omp_offloading_1_2_one_l3", 1001) +
               pointer("__omp_offloading_1_2_two_l4", 1002) + pointer("__omp_offloading_1_2_none_l5", 0) +
               pointer("__omp_offloading_1_2__ZTV5Shape_l2addr", 2000) + pointer("plain", 1003) +
               kernel("__omp_offloading_1_2_main_l9", 0));
  char hosts[32] = {};
  const auto entry = [&](int host, const char* name, std::int64_t size) {
    return __tgt_offload_entry{&hosts[host], const_cast<char*>(name), size};
  };
  std::vector<__tgt_offload_entry> entries{entry(4, "__omp_offloading_1_2_two_l4", 8),
                                           entry(1, "__omp_offloading_1_2_one_l3", 8),
                                           entry(2, "__omp_offloading_1_2_none_l5", 8),
                                           entry(3, "__omp_offloading_1_2_absent_l6", 8),
                                           entry(0, "plain", 8),
                                           entry(5, "__omp_offloading_1_2_main_l9", 0),
                                           entry(6, "__omp_offloading_1_2__ZTV5Shape_l2addr", 8),
                                           entry(6, "__omp_offloading_1_2__ZTV5Shape_l2addr", 8)};
  const std::vector<std::int64_t> extents{8, 8, 8, 8, 0, 0, 20, 20}; // of the tables: two words, and no third
  __tgt_device_image image{bytes.data(), bytes.data() + bytes.size(), entries.data(), entries.data() + entries.size()};
  REQUIRE(init_device(0) == 0);
  CallLog log;
  log.lines();
  REQUIRE(RTL(__tgt_rtl_load_indirect)(0, &image, extents.data()));
  const Lines lines = log.lines(), allocated = with(lines, "cuMemAlloc 64 "), sent = with(lines, "cuMemcpyHtoD ");
  REQUIRE(allocated.size() == 1);
  REQUIRE(sent.size() == 3); // the environment, the table, and where that is
  std::uint64_t words[2] = {}, table[8] = {};
  const std::uint64_t environment = std::stoull(sent[0].substr(sent[0].find(' ')));
  CHECK(std::stoull(sent[2].substr(sent[2].find(' '))) == environment + 24);
  CHECK(retrieve(words, reinterpret_cast<void*>(environment + 24), sizeof words) == 0);
  CHECK(words[1] == 4);
  CHECK(retrieve(table, reinterpret_cast<void*>(words[0]), sizeof table) == 0);
  const auto host = [&](int number) { return reinterpret_cast<std::uint64_t>(&hosts[number]); };
  CHECK(std::vector<std::uint64_t>(table, table + 8) ==
        std::vector<std::uint64_t>{host(1), 1001, host(4), 1002, host(6), 2000, host(14), 2008});
  CHECK(RTL(__tgt_rtl_unload_binary)(0, &image) == 0);
  CHECK(with(log.lines(), "cuMemFree ").size() == 1);
}

TEST_CASE("a virtual table of an impossible size is named, and nothing is allocated for it") {
  std::vector<char> bytes = bytes_of(text_of_head() + kDevice18 + ".visible .global .align 8 .u64 table = 2000;\n");
  char host = 0, name[] = "table";
  __tgt_offload_entry entry{&host, name, 8};
  __tgt_device_image image{bytes.data(), bytes.data() + bytes.size(), &entry, &entry + 1};
  const std::int64_t extent = std::int64_t{1} << 40;
  REQUIRE(init_device(0) == 0);
  CallLog log;
  log.lines();
  CHECK(!RTL(__tgt_rtl_load_indirect)(0, &image, &extent));
  CHECK(std::string(RTL(__tgt_rtl_last_error)()) ==
        "global table of 1099511627776 bytes makes more than 1048576 indirect calls");
  CHECK(with(log.lines(), "cuMemAlloc ").empty());
}

TEST_CASE("names with a beginning are found once each, by their numbers") {
  const std::string text = std::string("x__i_no_1\0__i_b_20\0__i_a_7\0 __i_b_20;", 38) + "__i_c_100";
  CHECK(omptool::cuda::names_with(std::as_bytes(std::span(text)), "__i_") == Lines{"__i_a_7", "__i_b_20", "__i_c_100"});
  CHECK(omptool::cuda::names_with({}, "__i_").empty());
}
