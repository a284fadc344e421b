// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device routines of OpenMP 4.5, with the results that users of LLVM's runtime know where the
// specification leaves them open.
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/exports.h"
#include "abi/routines/copies.h"
#include "abi/routines/routine.h"
#include "observe/listeners.h"
#include "offload/offload.h"
#include "process/default_device.h"
#include "process/message.h"

#include <climits>
#include <cstdlib>
#include <optional>

namespace omptool {
namespace {

using Operation = observe::Operation::Kind;

// In a child of fork() the host has a number that was a device's before: what is to be freed may be
// memory of that device, and is left alone.
void free_on_host(void* memory) {
  if (!Registry::lost_any_device())
    std::free(memory);
}

// Returns why a pointer stays associated, in LLVM's words; null where it does not.
const char* reason_of(Globals::Disassociation result) {
  switch (result) {
  case Globals::Disassociation::kDone:
    return nullptr;
  case Globals::Disassociation::kHeld:
    return "Trying to disassociate a pointer with a non-zero hold reference count";
  case Globals::Disassociation::kNotAssociated:
    return "Trying to disassociate a pointer which was not mapped via omp_target_associate_ptr";
  case Globals::Disassociation::kNothingThere:
    break;
  }
  return "Association not found";
}

} // namespace
} // namespace omptool

extern "C" {

OMPTOOL_EXPORT int omp_get_num_devices(void) {
  return omptool::guarded(__func__, [] {
    omptool::observe::start_tools();
    return omptool::number_of_devices();
  });
}

// LLVM's libomp asks for this name first, wherever this library is in the search order.
OMPTOOL_EXPORT int __tgt_get_num_devices(void) {
  return omp_get_num_devices();
}
OMPTOOL_EXPORT int omp_get_initial_device(void) {
  return omp_get_num_devices();
}
OMPTOOL_EXPORT int omp_is_initial_device(void) {
  return 1;
} // this function is the host's

OMPTOOL_EXPORT int omp_get_default_device(void) {
  return omptool::guarded(__func__, [] { return omptool::default_device(); });
}

OMPTOOL_EXPORT void omp_set_default_device(int device_num) {
  omptool::guarded(__func__, [&] { omptool::set_default_device(device_num); });
}

OMPTOOL_EXPORT void* omp_target_alloc(size_t size, int device_num) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&]() -> void* {
    if (size == 0 || size > LONG_MAX)
      return nullptr;
    if (omptool::is_host(device_num))
      return std::malloc(size);
    omptool::Device* device = omptool::usable_device(device_num);
    return device ? device->data.allocations.allocate(size) : nullptr;
  });
}

OMPTOOL_EXPORT void omp_target_free(void* device_ptr, int device_num) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  omptool::guarded(__func__, [&] {
    if (!device_ptr)
      return;
    if (omptool::is_host(device_num))
      return omptool::free_on_host(device_ptr);
    omptool::Device* device = omptool::usable_device(device_num);
    if (!device)
      return;
    const std::optional<bool> special = device->special.free(device_ptr);
    if (special ? !*special : !device->data.allocations.release(device_ptr))
      omptool::say("omp_target_free: %s did not free %p%s", device->describe().c_str(), device_ptr,
                   device->memory.last_error().c_str());
  });
}

OMPTOOL_EXPORT int omp_target_is_present(const void* ptr, int device_num) {
  return omptool::guarded(__func__, [&]() -> int {
    if (!ptr)
      return 0;
    if (omptool::is_host(device_num))
      return 1;
    omptool::Device* device = omptool::prepared_device(device_num);
    if (device)
      omptool::report_lookup(*device, ptr);
    return device && device->data.table.is_present(ptr);
  });
}

OMPTOOL_EXPORT int omp_target_memcpy(void* dst, const void* src, size_t length, size_t dst_offset, size_t src_offset,
                                     int dst_device_num, int src_device_num) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&]() -> int {
    if (length == 0)
      return 0;
    const std::optional<omptool::Place> to = omptool::place_of(dst_device_num);
    const std::optional<omptool::Place> from = omptool::place_of(src_device_num);
    if (!dst || !src || !to || !from || length > LONG_MAX)
      return omptool::kFailed;
    return omptool::copy(*to, static_cast<std::byte*>(dst) + dst_offset, *from,
                         static_cast<const std::byte*>(src) + src_offset, length)
               ? 0
               : omptool::kFailed;
  });
}

OMPTOOL_EXPORT int omp_target_memcpy_rect(void* dst, const void* src, size_t element_size, int num_dims,
                                          const size_t* volume, const size_t* dst_offsets, const size_t* src_offsets,
                                          const size_t* dst_dimensions, const size_t* src_dimensions,
                                          int dst_device_num, int src_device_num) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&]() -> int {
    if (!dst && !src)
      return INT_MAX; // how a program asks for the number of dimensions
    const std::optional<omptool::Place> to = omptool::place_of(dst_device_num);
    const std::optional<omptool::Place> from = omptool::place_of(src_device_num);
    if (!dst || !src || element_size < 1 || num_dims < 1 || !volume || !dst_offsets || !src_offsets ||
        !dst_dimensions || !src_dimensions || !to || !from)
      return omptool::kFailed;
    const omptool::Rectangle rectangle{element_size, volume, dst_offsets, src_offsets, dst_dimensions, src_dimensions};
    return omptool::copy_rectangle(*to, static_cast<std::byte*>(dst), *from, static_cast<const std::byte*>(src),
                                   rectangle, num_dims)
               ? 0
               : omptool::kFailed;
  });
}

OMPTOOL_EXPORT int omp_target_associate_ptr(const void* host_ptr, const void* device_ptr, size_t size,
                                            size_t device_offset, int device_num) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&]() -> int {
    omptool::Device* device = omptool::usable_device(device_num);
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(host_ptr);
    if (!device || !host_ptr || !device_ptr || size == 0 || size > LONG_MAX || begin + size < begin)
      return omptool::kFailed;
    void* const target = static_cast<std::byte*>(const_cast<void*>(device_ptr)) + device_offset;
    omptool::observe::Operation told = omptool::observe::begin(
        {omptool::Operation::kAssociate, device_num, host_ptr, target, static_cast<std::int64_t>(size)});
    const bool done = device->data.globals.associate({begin, begin + size}, target);
    omptool::observe::end(told, done);
    return done ? 0 : omptool::kFailed;
  });
}

OMPTOOL_EXPORT int omp_target_disassociate_ptr(const void* ptr, int device_num) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&]() -> int {
    omptool::Device* device = omptool::usable_device(device_num);
    if (!device || !ptr)
      return omptool::kFailed;
    omptool::observe::Operation told =
        omptool::observe::begin({omptool::Operation::kDisassociate, device_num, ptr, nullptr});
    const char* const reason = omptool::reason_of(device->data.globals.disassociate(ptr));
    omptool::observe::end(told, !reason);
    if (reason)
      omptool::tell("omptarget error: ", "%s", reason);
    return reason ? omptool::kFailed : 0;
  });
}
}
