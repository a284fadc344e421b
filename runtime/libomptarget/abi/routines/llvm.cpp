// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The routines of LLVM's own that programs and libomp find in libomptarget.
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/info/info.h"
#include "abi/routines/routine.h"
#include "process/libomp.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace omptool {
namespace {

// Allocates memory with one address for host and device, if there is any: of the kind, or the device's own.
void* allocate_for_both(std::size_t size, int number, std::int32_t kind) {
  if (is_host(number))
    return std::malloc(size);
  Device* device = usable_device(number);
  if (!device || size > LONG_MAX)
    return nullptr;
  if (device->special.has_kinds())
    return device->special.allocate(static_cast<std::int64_t>(size), kind);
  return device->memory.is_addressable() ? omp_target_alloc(size, number) : nullptr;
}

// Returns the number with its unit, or "" if the number is not known.
std::string number(std::uint64_t value, const char* unit = "") {
  return value != 0 ? std::to_string(value) + unit : std::string();
}

struct Line {
  std::string_view key;
  std::string value; // "": not known, and not told
};

std::vector<Line> lines_of(const Device& device) {
  const tgt_device_description said = device.rtl.describe(device.rtl_id).value_or(tgt_device_description{});
  const std::string_view images = said.images;
  const bool is_cuda = images.find("cubin") != images.npos;
  const bool is_cpu = !is_cuda && images.find("ELF") != images.npos;
  return {{"CUDA Driver Version", is_cuda ? said.driver : ""},
          {"CUDA OpenMP Device Number", is_cuda ? std::to_string(device.rtl_id) : ""},
          {"Device Type", is_cpu ? "Generic-elf-64bit" : ""},
          {"Driver Version", is_cuda ? "" : said.driver},
          {"Device Name", said.name},
          {"Global Memory Size", number(said.memory, " bytes")},
          {"Number of Multiprocessors", number(said.units)},
          {"Max Shared Memory per Block", number(said.team_memory, " bytes")},
          {"Maximum Threads per Block", number(said.threads)},
          {"Compute Capabilities", said.architecture},
          {"MPI Rank", said.node[0] ? std::to_string(said.rank) : ""},
          {"MPI Node", said.node},
          {"UID", device.uid}};
}

// Information about a device. Programs find a key by the blanks behind it: at least four, as in LLVM's text.
std::string information(const Device& device) {
  constexpr std::size_t kMargin = 4;
  std::vector<Line> lines = lines_of(device);
  std::erase_if(lines, [](const Line& line) { return line.value.empty(); });
  std::size_t longest = 0;
  for (const Line& line : lines)
    longest = std::max(longest, line.key.size());
  std::string text;
  for (const Line& line : lines)
    text.append(kMargin, ' ').append(line.key).append(longest - line.key.size() + kMargin, ' ').append(line.value) +=
        '\n';
  return text;
}

// Passes the device's lines to `take`. Returns 0 if there is no such device, where LLVM's runtime aborts.
template <typename Take> int describe(const char* function, std::int64_t number, const Take& take) {
  return guarded(function, [&] {
    if (number < 0 || number >= number_of_devices())
      return 0;
    const std::string text = information(*Registry::current()->device(static_cast<int>(number)));
    take(text.data(), text.size());
    return 1;
  });
}

} // namespace

extern "C" {

// Exported functions omit unused parameters at the end; the C calling convention lets callers pass them all the same.

// ---- devices ----

// Programs make these calls before any library has registered: all devices get numbers, and each describes itself in
// the lines of LLVM 22's plugins.

// OMPTOOL_EXPORT without effect: devices are initialised at their first use, and stay.
OMPTOOL_EXPORT void __tgt_rtl_init() {}
OMPTOOL_EXPORT void __tgt_rtl_deinit() {}
OMPTOOL_EXPORT void __tgt_init_all_rtls() {
  guarded(__func__, [] {
    look_for_libomp_again();
    Registry::obtain().number_all();
  });
}

OMPTOOL_EXPORT int __tgt_print_device_info(std::int64_t number) {
  return describe(__func__, number, [](const char* text, std::size_t size) {
    std::fwrite(text, 1, size, stdout);
    std::fflush(stdout);
  });
}

// Passes the device's information to `take`. PyOMP adds this function to LLVM's.
OMPTOOL_EXPORT int __tgt_get_device_info(std::int32_t number, void (*take)(const char* text, std::size_t size)) {
  return take ? describe(__func__, number, take) : 0;
}

// Limit of dyn_groupprivate() on a device, since LLVM 23: memory that the threads of a team share. 0 on the host, for
// groups of threads other than a team, and if the device does not report its size.
OMPTOOL_EXPORT std::size_t omp_get_gprivate_limit(int number, int group) {
  constexpr int kContentionGroup = 0;
  return guarded(__func__, [&]() -> std::size_t {
    Device* const device = group == kContentionGroup && !is_host(number) ? usable_device(number) : nullptr;
    return device ? device->rtl.describe(device->rtl_id).value_or(tgt_device_description{}).team_memory : 0;
  });
}

OMPTOOL_EXPORT void ompx_dump_mapping_tables(void) {
  guarded(__func__, [] {
    for (const std::string& line : info::describe_tables())
      std::puts(line.c_str());
    std::fflush(stdout);
  });
}

OMPTOOL_EXPORT void __tgt_set_info_flag(std::uint32_t flags) {
  info::set_info(flags);
}

// ---- memory ----

OMPTOOL_EXPORT void* llvm_omp_target_alloc_host(size_t size, int number) {
  return reported(__func__, __builtin_return_address(0),
                  [&] { return allocate_for_both(size, number, OMPTARGET_MEMORY_HOST); });
}
OMPTOOL_EXPORT void* llvm_omp_target_alloc_shared(size_t size, int number) {
  return reported(__func__, __builtin_return_address(0),
                  [&] { return allocate_for_both(size, number, OMPTARGET_MEMORY_SHARED); });
}
OMPTOOL_EXPORT void* llvm_omp_target_lock_mem(void* memory, size_t size, int number) {
  return guarded(__func__, [&] {
    Device* const device = memory && size > 0 ? usable_device(number) : nullptr;
    return device ? device->special.lock(memory, size) : memory;
  });
}
OMPTOOL_EXPORT void llvm_omp_target_unlock_mem(void* memory, int number) {
  guarded(__func__, [&] {
    if (Device* const device = memory ? usable_device(number) : nullptr)
      device->special.unlock(memory);
  });
}

// Returns null: the host has no memory of teams.
OMPTOOL_EXPORT void* llvm_omp_target_dynamic_shared_alloc(void) {
  return nullptr;
}
OMPTOOL_EXPORT_ALIAS("llvm_omp_target_dynamic_shared_alloc") void* llvm_omp_get_dynamic_shared(void);

// Pauses nothing: between two uses, a device holds only the program's data, which stays.
OMPTOOL_EXPORT int tgt_pause_resource(int, int number) {
  return guarded(__func__, [&] { return number >= 0 && number < number_of_devices(); }) ? 0 : 1;
}

// ---- memory spaces of libomp 22 ----

// Gets the memory resources of spaces: a single device with memory that the host can use is the resource of every
// space. With several devices an allocator does not show which one is meant.
OMPTOOL_EXPORT int __tgt_get_mem_resources(int count, const int* devices, int, const void*, int* resources) {
  return guarded(__func__, [&]() -> int {
    Device* const only = number_of_devices() == 1 ? usable_device(0) : nullptr;
    if (count != 1 || !devices || devices[0] != 0 || !only ||
        !(only->special.has_kinds() || only->memory.is_addressable()))
      return 0;
    if (resources)
      resources[0] = 0;
    return 1;
  });
}
OMPTOOL_EXPORT void* __tgt_omp_alloc(std::size_t size) {
  return reported(__func__, __builtin_return_address(0), [&] { return llvm_omp_target_alloc_shared(size, 0); });
}
OMPTOOL_EXPORT void __tgt_omp_free(void* memory) {
  reported(__func__, __builtin_return_address(0), [&] { omp_target_free(memory, 0); });
}

// ---- record and replay ----

OMPTOOL_EXPORT int __tgt_target_kernel_replay() {
  say("__tgt_target_kernel_replay: this runtime does not replay kernels");
  return kFailed;
}
OMPTOOL_EXPORT int __tgt_activate_record_replay() {
  say("__tgt_activate_record_replay: this runtime does not record kernels");
  return kFailed;
}

// ---- calls from kernels to the host ----

// Registers no callback, because no plugin serves such calls: on a CPU kernels call the host's functions themselves.
// Every Fortran program of flang 24 calls this.
OMPTOOL_EXPORT void __tgt_register_rpc_callback(unsigned (*)(void* port, unsigned lanes)) {}

// ---- launches of CUDA programs, clang's -foffload-via-llvm ----

// Pushes nothing: no plugin's kernels use the values between <<< and >>>, as CUDA's kernels do.
OMPTOOL_EXPORT unsigned __llvmPushCallConfiguration() {
  return 0;
}
OMPTOOL_EXPORT_ALIAS("__llvmPushCallConfiguration") unsigned __llvmPopCallConfiguration();
OMPTOOL_EXPORT unsigned llvmLaunchKernel(const void* function) {
  say("llvmLaunchKernel: the kernel at %p is not launched: no device runs CUDA kernels", function);
  return 1;
}
}
} // namespace omptool
