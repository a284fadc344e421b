// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the plugin of 2013 that the tests have, except that the function FAKEPROPOSAL_IN fails from its
// FAKEPROPOSAL_AT-th call on (counted from 1). "table" makes its tables one entry shorter, "sizes" wrong. A call that
// fails returns FAKEPROPOSAL_ERROR, if not 7.
#include "libtarget_rtl.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
// The real plugin's function of that name.
#define REAL(name) (reinterpret_cast<decltype(&name)>(real_symbol(#name)))

namespace {

int error() {
  const char* const wanted = std::getenv("FAKEPROPOSAL_ERROR");
  return wanted ? std::atoi(wanted) : 7;
}

void* real_symbol(const char* name) {
  static void* const plugin = dlopen(REAL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  void* const found = plugin ? dlsym(plugin, name) : nullptr;
  if (!found)
    std::abort();
  return found;
}

bool fails(const char* function) {
  static std::atomic<long> calls{0};
  const char* const wanted = std::getenv("FAKEPROPOSAL_IN");
  const char* const from = std::getenv("FAKEPROPOSAL_AT");
  return wanted && std::strcmp(wanted, function) == 0 && ++calls >= (from ? std::atol(from) : 1);
}

tgt_target_table* spoiled(tgt_target_table* table) {
  if (fails("table"))
    --table->EntriesEnd;
  if (fails("sizes"))
    ++table->EntriesBegin->tgt_offload_entry_size;
  return table;
}

} // namespace

FAKE_EXPORT int __tgt_rtl_device_type(int device_id) {
  return fails("device_type") ? -1 : REAL(__tgt_rtl_device_type)(device_id);
}
FAKE_EXPORT int __tgt_rtl_number_of_devices() {
  return fails("number_of_devices") ? -error() : 1;
}
FAKE_EXPORT void __tgt_rtl_init_device(int device_id) {
  REAL(__tgt_init_device)(device_id);
}
FAKE_EXPORT tgt_target_table* __tgt_rtl_load_binary(int device_id, void* image, int size) {
  return fails("load_binary") ? nullptr : spoiled(REAL(__tgt_rtl_load_binary)(device_id, image, size));
}
FAKE_EXPORT void* __tgt_rtl_data_alloc(int device_id, int size) {
  return fails("data_alloc") ? nullptr : REAL(__tgt_rtl_data_alloc)(device_id, size);
}
FAKE_EXPORT int __tgt_rtl_data_submit(int device_id, void* target, void* host, int size) {
  return fails("data_submit") ? error() : REAL(__tgt_rtl_data_submit)(device_id, target, host, size);
}
FAKE_EXPORT int __tgt_rtl_data_retrieve(int device_id, void* host, void* target, int size) {
  return fails("data_retrieve") ? error() : REAL(__tgt_rtl_data_retrieve)(device_id, host, target, size);
}
FAKE_EXPORT int __tgt_rtl_data_delete(int device_id, void* target) {
  const int result = REAL(__tgt_rtl_data_delete)(device_id, target); // LeakSanitizer watches
  return fails("data_delete") ? error() : result;
}
FAKE_EXPORT int __tgt_rtl_run_target_region(int device_id, void* entry, void* variables) {
  return fails("run") ? error() : REAL(__tgt_rtl_run_target_region)(device_id, entry, variables);
}
FAKE_EXPORT int __tgt_rtl_run_target_team_region(int device_id, void* entry, void* variables) {
  return fails("run") ? error() : REAL(__tgt_rtl_run_target_team_region)(device_id, entry, variables);
}
