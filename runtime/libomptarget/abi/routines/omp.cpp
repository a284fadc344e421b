// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device routines of OpenMP. Where the specification leaves results open, they are those of LLVM's runtime.
// Asynchronous routines wait for their dependences and have done their work when they return.
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/routines/copies.h"
#include "abi/routines/routine.h"
#include "observe/listeners.h"
#include "process/libomp.h"

#include <climits>
#include <cstdlib>
#include <cstring>

namespace omptool {
namespace {

using Operation = observe::Operation::Kind;

// Runs a routine's query about a host address. NULL gets the answer for no object; every other address of the host gets
// `of_host`.
template <typename Answer, typename Ask>
Answer asked(const char* function, const void* address, int number, Answer of_host, const Ask& ask) noexcept {
  return guarded(function, [&]() -> Answer {
    if (!address)
      return Answer{};
    if (Device* const device = ready_device(number)) [[likely]]
      return ask(*device);
    if (is_host(number))
      return of_host;
    Device* const device = prepared_device(number);
    return device ? ask(*device) : Answer{};
  });
}

void report_lookup(Device& device, const void* address) {
  if (!observe::heard())
    return;
  observe::ObjectAsked asked{device.number, address, {}};
  for (const MappedObject& object : device.data.presence.objects())
    if (object.device && object.host.contains(HostRange::of(address, 1)))
      asked.object = {object.host, object.device, 0, object.references, object.holds, object.infinite, false, false};
  observe::report(asked);
}

} // namespace

extern "C" {

// ---- devices ----

OMPTOOL_EXPORT int omp_get_num_devices(void) {
  return guarded(__func__, [] {
    observe::start_tools();
    return number_of_devices();
  });
}

// LLVM's libomp asks for the first name first, wherever this library is in the search order. These functions are the
// host's, whose number follows those of the devices.
OMPTOOL_EXPORT_ALIAS("omp_get_num_devices") int __tgt_get_num_devices(void);
OMPTOOL_EXPORT_ALIAS("omp_get_num_devices") int omp_get_initial_device(void);
OMPTOOL_EXPORT_ALIAS("omp_get_num_devices") int omp_get_device_num(void);
OMPTOOL_EXPORT int omp_is_initial_device(void) {
  return 1;
}

OMPTOOL_EXPORT int omp_get_default_device(void) {
  return guarded(__func__, [] { return default_device(); });
}

OMPTOOL_EXPORT void omp_set_default_device(int device_num) {
  guarded(__func__, [&] { set_default_device(device_num); });
}

// The routines that libtarget.so has, too.
OMPTOOL_EXPORT_ALIAS("omp_is_initial_device") int omptool_2013_is_initial_device(void);
OMPTOOL_EXPORT_ALIAS("omp_get_default_device") int omptool_2013_get_default_device(void);
OMPTOOL_EXPORT_ALIAS("omp_set_default_device") void omptool_2013_set_default_device(int number);

OMPTOOL_EXPORT const char* omp_get_uid_from_device(int number) {
  return guarded(__func__, [&]() -> const char* {
    if (is_host(number))
      return "HOST";
    Device* device = usable_device(number);
    return device ? device->uid.c_str() : nullptr;
  });
}

OMPTOOL_EXPORT int omp_get_device_from_uid(const char* uid) {
  return guarded(__func__, [&]() -> int {
    constexpr int kInvalidDevice = -2;
    const int count = number_of_devices();
    if (uid && !std::strcmp(uid, "HOST"))
      return count;
    for (int number = 0; uid && number < count; ++number)
      if (Registry::current()->device(number)->uid == uid)
        return number;
    return kInvalidDevice;
  });
}

// ---- memory ----

OMPTOOL_EXPORT void* omp_target_alloc(size_t size, int device_num) {
  return reported(__func__, __builtin_return_address(0), [&]() -> void* {
    if (size == 0 || size > LONG_MAX)
      return nullptr;
    if (is_host(device_num))
      return std::malloc(size);
    Device* device = usable_device(device_num);
    return device ? device->data.allocations.allocate(size) : nullptr;
  });
}

OMPTOOL_EXPORT void omp_target_free(void* device_ptr, int device_num) {
  reported(__func__, __builtin_return_address(0), [&] {
    if (!device_ptr)
      return;
    if (is_host(device_num)) {
      // In a child of fork() the host has a number that was a device's before: what is to be freed may be memory of
      // that device, and is left alone.
      if (Registry* const lost = Registry::lost(); !lost || !lost->device(0))
        std::free(device_ptr);
      return;
    }
    Device* device = usable_device(device_num);
    if (!device)
      return;
    const std::optional<bool> special = device->special.free(device_ptr);
    if (special ? !*special : !device->data.allocations.release(device_ptr))
      say("omp_target_free: %s did not free %p%s", device->describe().c_str(), device_ptr,
          device->memory.last_error().c_str());
  });
}

// As LLVM's programs call it. Memory of every kind is freed in one way.
OMPTOOL_EXPORT_ALIAS("omp_target_alloc") void* llvm_omp_target_alloc_device(size_t size, int number);
OMPTOOL_EXPORT_ALIAS("omp_target_free") void llvm_omp_target_free_device(void* memory, int number);
OMPTOOL_EXPORT_ALIAS("omp_target_free") void llvm_omp_target_free_host(void* memory, int number);
OMPTOOL_EXPORT_ALIAS("omp_target_free") void llvm_omp_target_free_shared(void* memory, int number);

OMPTOOL_EXPORT int omp_target_is_present(const void* host, int number) {
  return asked(__func__, host, number, 1, [&](Device& device) -> int {
    report_lookup(device, host);
    return device.data.presence.is_present(host);
  });
}
OMPTOOL_EXPORT void* omp_get_mapped_ptr(const void* host, int number) {
  return asked(__func__, host, number, const_cast<void*>(host), [&](Device& device) {
    report_lookup(device, host);
    return device.data.presence.device_address(host);
  });
}
// Gets the device address of a host address, as LLVM 24 does and with its order of parameters. Returns the host address
// if nothing is mapped.
OMPTOOL_EXPORT void* __tgt_get_mapped_ptr(std::int64_t number, const void* host) {
  const bool is_number = 0 <= number && number <= number_of_devices();
  void* const mapped = is_number ? omp_get_mapped_ptr(host, static_cast<int>(number)) : nullptr;
  return mapped ? mapped : const_cast<void*>(host);
}
OMPTOOL_EXPORT int omp_target_is_accessible(const void* host, size_t size, int number) {
  return asked(__func__, host, number, 1, [&](Device& device) -> int { return size > 0 && device.data.sharing.any(); });
}

OMPTOOL_EXPORT int omp_target_memcpy(void* dst, const void* src, size_t length, size_t dst_offset, size_t src_offset,
                                     int dst_device_num, int src_device_num) {
  return tried(__func__, __builtin_return_address(0), [&] {
    if (length == 0)
      return true;
    const std::optional<Place> to = place_of(dst_device_num);
    const std::optional<Place> from = place_of(src_device_num);
    return dst && src && to && from && length <= LONG_MAX &&
           copy(*to, static_cast<std::byte*>(dst) + dst_offset, *from, static_cast<const std::byte*>(src) + src_offset,
                length);
  });
}

OMPTOOL_EXPORT int omp_target_memcpy_rect(void* dst, const void* src, size_t element_size, int num_dims,
                                          const size_t* volume, const size_t* dst_offsets, const size_t* src_offsets,
                                          const size_t* dst_dimensions, const size_t* src_dimensions,
                                          int dst_device_num, int src_device_num) {
  return reported(__func__, __builtin_return_address(0), [&]() -> int {
    if (!dst && !src)
      return INT_MAX; // how a program asks for the number of dimensions
    const std::optional<Place> to = place_of(dst_device_num);
    const std::optional<Place> from = place_of(src_device_num);
    const Rectangle rectangle{element_size, volume, dst_offsets, src_offsets, dst_dimensions, src_dimensions};
    const bool done = dst && src && element_size > 0 && num_dims > 0 && volume && dst_offsets && src_offsets &&
                      dst_dimensions && src_dimensions && to && from &&
                      copy_rectangle(*to, static_cast<std::byte*>(dst), *from, static_cast<const std::byte*>(src),
                                     rectangle, static_cast<std::size_t>(num_dims));
    return done ? 0 : kFailed;
  });
}

OMPTOOL_EXPORT void* omp_target_memset(void* target, int value, size_t size, int number) {
  return reported(__func__, __builtin_return_address(0), [&] {
    if (!target || size == 0)
      return target;
    if (is_host(number))
      return std::memset(target, value, size);
    Device* const device = usable_device(number);
    return device && fill(*device, static_cast<std::byte*>(target), value, size) ? target : nullptr;
  });
}

OMPTOOL_EXPORT void* omp_target_memset_async(void* target, int value, size_t size, int number, int count,
                                             void** dependences) {
  return reported(__func__, __builtin_return_address(0), [&] {
    wait_for(count, dependences);
    return omp_target_memset(target, value, size, number);
  });
}

OMPTOOL_EXPORT int omp_target_memcpy_async(void* target, const void* source, size_t size, size_t target_offset,
                                           size_t source_offset, int to, int from, int count, void** dependences) {
  return reported(__func__, __builtin_return_address(0), [&] {
    wait_for(count, dependences);
    return omp_target_memcpy(target, source, size, target_offset, source_offset, to, from);
  });
}

OMPTOOL_EXPORT int omp_target_memcpy_rect_async(void* target, const void* source, size_t element, int dimensions,
                                                const size_t* volume, const size_t* target_offsets,
                                                const size_t* source_offsets, const size_t* target_dimensions,
                                                const size_t* source_dimensions, int to, int from, int count,
                                                void** dependences) {
  return reported(__func__, __builtin_return_address(0), [&] {
    wait_for(count, dependences);
    return omp_target_memcpy_rect(target, source, element, dimensions, volume, target_offsets, source_offsets,
                                  target_dimensions, source_dimensions, to, from);
  });
}

OMPTOOL_EXPORT int omp_target_associate_ptr(const void* host_ptr, const void* device_ptr, size_t size,
                                            size_t device_offset, int device_num) {
  return tried(__func__, __builtin_return_address(0), [&] {
    Device* const device = known_device(device_num);
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(host_ptr);
    if (!device || !host_ptr || !device_ptr || size == 0 || size > LONG_MAX || begin + size < begin)
      return false;
    void* const target = static_cast<std::byte*>(const_cast<void*>(device_ptr)) + device_offset;
    observe::Operation operation{Operation::kAssociate, device_num, host_ptr, target, static_cast<std::int64_t>(size)};
    observe::begin(operation);
    const bool done = device->data.globals.associate({begin, begin + size}, target);
    observe::end(operation, done);
    return done;
  });
}

OMPTOOL_EXPORT int omp_target_disassociate_ptr(const void* ptr, int device_num) {
  return tried(__func__, __builtin_return_address(0), [&] {
    Device* const device = known_device(device_num);
    if (!device || !ptr)
      return false;
    observe::Operation operation{Operation::kDisassociate, device_num, ptr, nullptr};
    observe::begin(operation);
    const char* const reason = device->data.globals.disassociate(ptr);
    observe::end(operation, !reason);
    if (reason)
      tell("omptarget error: ", "%s", reason);
    return !reason;
  });
}
}
} // namespace omptool
