// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.proposal_cpu.so: a plugin of 2013 (libtarget_rtl.h) that runs shared objects for the CPU
// on the CPU, in memory apart from the host's. Kernels take at most six arguments; a team region is one
// team of one thread, since the interface does not say how many are wanted.
#include "libtarget_rtl.h"

#include "elf_image.h"
#include "kernels/call.h"
#include "kernels/thread_state.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#define PROPOSAL_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using omptool::Bytes;

constexpr omptool_thread_state kAlone{0, 1, 0, 1, 0, 0};

const omptool_thread_state* thread_state() {
  return &kAlone;
}

// An image in this process, for as long as that lives.
struct Image {
  std::vector<tgt_offload_entry> entries;
  tgt_target_table table{};
};

// Opens a copy of the image with variables of its own. The file stays open, so that no other file gets its path.
void* open_copy(Bytes bytes) {
  const int file = ::memfd_create("image of 2013", MFD_CLOEXEC);
  if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return nullptr;
  return ::dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Reads the entries of the image's table after relocation: an address and a size, or both with a name in between.
void read_entries(Bytes bytes, std::uintptr_t base, std::vector<tgt_offload_entry>& entries) {
  const std::optional<omptool::host::TableLocation> where = omptool::host::entry_table(bytes);
  if (!where)
    return;
  const std::size_t size_at = where->record == omptool::host::kNamelessRecord ? 8 : 16;
  const auto* const table = reinterpret_cast<const std::byte*>(base + where->address);
  for (std::uint64_t at = 0; where->size - at >= where->record; at += where->record) {
    tgt_offload_entry entry{};
    std::memcpy(&entry.tgt_offload_entry_address, table + at, sizeof entry.tgt_offload_entry_address);
    std::memcpy(&entry.tgt_offload_entry_size, table + at + size_at, sizeof entry.tgt_offload_entry_size);
    entries.push_back(entry);
  }
}

tgt_target_table* load(Bytes bytes) {
  if (omptool::host::fault_of(bytes))
    return nullptr;
  void* const handle = open_copy(bytes);
  link_map* map = nullptr;
  if (!handle || ::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    return nullptr;
  if (void* const place = ::dlsym(handle, OMPTOOL_THREAD_STATE_SYMBOL)) {
    const omptool_thread_state* (*const function)() = thread_state;
    std::memcpy(place, &function, sizeof function);
  }
  auto image = std::make_unique<Image>();
  read_entries(bytes, map->l_addr, image->entries);
  image->table = {image->entries.data(), image->entries.data() + image->entries.size()};
  static std::mutex adding;
  static auto& images = *new std::vector<std::unique_ptr<Image>>; // in use until the process ends
  const std::lock_guard lock(adding);
  return &images.emplace_back(std::move(image))->table;
}

int run(void* entry, void* variables) {
  omptool::host::omptool_host_call(entry, static_cast<void**>(variables), omptool::host::kRegisterArguments);
  return 0;
}

} // namespace

PROPOSAL_EXPORT int __tgt_rtl_device_type(int) {
  return omptool::machine::kElf;
}
PROPOSAL_EXPORT int __tgt_rtl_number_of_devices() {
  return 2;
}
PROPOSAL_EXPORT void __tgt_init_device(int) {}
PROPOSAL_EXPORT tgt_target_table* __tgt_rtl_load_binary(int, void* target_image, int target_image_size) {
  const auto* const bytes = static_cast<const std::byte*>(target_image);
  return load({bytes, bytes + target_image_size});
}
PROPOSAL_EXPORT void* __tgt_rtl_data_alloc(int, int size) {
  return std::malloc(static_cast<std::size_t>(size));
}
PROPOSAL_EXPORT int __tgt_rtl_data_submit(int, void* target_ptr, void* host_ptr, int size) {
  std::memcpy(target_ptr, host_ptr, static_cast<std::size_t>(size));
  return 0;
}
PROPOSAL_EXPORT int __tgt_rtl_data_retrieve(int, void* host_ptr, void* target_ptr, int size) {
  std::memcpy(host_ptr, target_ptr, static_cast<std::size_t>(size));
  return 0;
}
PROPOSAL_EXPORT int __tgt_rtl_data_delete(int, void* target_ptr) {
  std::free(target_ptr);
  return 0;
}
PROPOSAL_EXPORT int __tgt_rtl_run_target_region(int, void* target_entry_ptr, void* target_vars_ptr) {
  return run(target_entry_ptr, target_vars_ptr);
}
PROPOSAL_EXPORT int __tgt_rtl_run_target_team_region(int, void* target_entry_ptr, void* target_vars_ptr) {
  return run(target_entry_ptr, target_vars_ptr);
}
