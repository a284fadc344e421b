// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: device memory, which is the host's, and copies.
#include "ranges.h"
#include "state.h"
#include "streams.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

namespace fake_cuda {
namespace {

struct Range {
  std::size_t size;
  Kind kind;
};
std::map<std::uintptr_t, Range>& ranges = *new std::map<std::uintptr_t, Range>;
constexpr std::size_t kDevice = std::size_t{1} << 34;

// Requires the lock.
const Range* range_of(std::uintptr_t address, std::size_t size) {
  const auto after = ranges.upper_bound(address);
  if (after == ranges.begin())
    return nullptr;
  const auto& [begin, range] = *std::prev(after);
  return address - begin <= range.size && size <= range.size - (address - begin) ? &range : nullptr;
}

// Requires the lock.
std::size_t bytes_of(Kind kind) {
  std::size_t all = 0;
  for (const auto& [begin, range] : ranges)
    all += range.kind == kind ? range.size : 0;
  return all;
}

bool has_room(std::size_t size) {
  static const long most = number_in("FAKE_CUDA_MEMORY", 0);
  const std::lock_guard lock(lock_of_all);
  return most == 0 || bytes_of(Kind::kDevice) + size <= static_cast<std::size_t>(most) << 20;
}

CUresult make(void** made, std::size_t size, Kind kind) {
  if (size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool fits = size <= kDevice && (kind != Kind::kDevice || has_room(size));
  void* const memory = !fits ? nullptr : std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (size < (1 << 20)) // nobody may rely on zeros
    std::memset(memory, 0xA5, size);
  add_range(memory, size, kind);
  *made = memory;
  return CUDA_SUCCESS;
}

CUresult give_back(void* memory, Kind kind) {
  if (!remove_range(memory, kind))
    return CUDA_ERROR_INVALID_VALUE;
  std::free(memory);
  return CUDA_SUCCESS;
}

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

// Ends the line of a call with the allocated memory, in front of the result.
CUresult ends_with(Call& call, CUresult result, const CUdeviceptr* made) {
  if (result == CUDA_SUCCESS)
    call.note(pointer(*made));
  return call.ends(result);
}

// Puts work into a stream, if that and the context are right.
CUresult queue(CUstream handle, std::function<void()> work) {
  Stream* const stream = find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = CUDA_SUCCESS;
  if (is_current(*stream, result))
    add(*stream, std::move(work));
  return result;
}

} // namespace

void add_range(void* begin, std::size_t size, Kind kind) {
  const std::lock_guard lock(lock_of_all);
  ranges[reinterpret_cast<std::uintptr_t>(begin)] = {size, kind};
}

bool remove_range(void* begin, Kind kind) {
  const std::lock_guard lock(lock_of_all);
  const auto at = ranges.find(reinterpret_cast<std::uintptr_t>(begin));
  if (at == ranges.end() || at->second.kind != kind) {
    misuse("memory is released that is not there");
    return false;
  }
  ranges.erase(at);
  return true;
}

bool is_on_device(unsigned long long begin, std::size_t size) {
  const std::lock_guard lock(lock_of_all);
  if (range_of(begin, size))
    return true;
  misuse("memory outside of the device's is used");
  return false;
}

bool is_page_locked(const void* address) {
  const std::lock_guard lock(lock_of_all);
  const Range* const range = range_of(reinterpret_cast<std::uintptr_t>(address), 1);
  return range && (range->kind == Kind::kPinned || range->kind == Kind::kRegistered);
}

std::string content_at(const void* address, std::size_t most) {
  constexpr char kDigits[] = "0123456789abcdef";
  const std::lock_guard lock(lock_of_all);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto after = ranges.upper_bound(begin);
  if (after == ranges.begin())
    return "-";
  const auto& [start, range] = *std::prev(after);
  if (begin - start >= range.size || (range.kind != Kind::kDevice && range.kind != Kind::kVariable))
    return "-";
  std::string text;
  const auto* const bytes = static_cast<const unsigned char*>(address);
  for (std::size_t i = 0; i < std::min(most, range.size - (begin - start)); ++i)
    text.append({kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]});
  return text;
}

} // namespace fake_cuda

using namespace fake_cuda;

// Counts the blocks of a kind of memory, for tests.
FAKE_EXPORT int fake_cuda_blocks(int kind) {
  const std::lock_guard lock(lock_of_all);
  int count = 0;
  for (const auto& [begin, range] : ranges)
    count += static_cast<int>(range.kind) == kind ? 1 : 0;
  return count;
}

FAKE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* made, std::size_t size) {
  FAKE_CALL(call, cuMemAlloc, size);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  return ends_with(call, make(reinterpret_cast<void**>(made), size, Kind::kDevice), made);
}

FAKE_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* made, std::size_t size, unsigned flags) {
  FAKE_CALL(call, cuMemAllocManaged, size, flags);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  return ends_with(call, make(reinterpret_cast<void**>(made), size, Kind::kDevice), made);
}

FAKE_EXPORT CUresult cuMemFree_v2(CUdeviceptr memory) {
  FAKE_CALL(call, cuMemFree, memory);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  wait_for_all(current_device()); // as the driver does
  return call.ends(give_back(pointer(memory), Kind::kDevice));
}

FAKE_EXPORT CUresult cuMemHostAlloc(void** made, std::size_t size, unsigned flags) {
  FAKE_CALL(call, cuMemHostAlloc, size, flags);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  return call.ends(make(made, size, Kind::kPinned));
}

FAKE_EXPORT CUresult cuMemAllocHost_v2(void** made, std::size_t size) {
  FAKE_CALL(call, cuMemAllocHost, size);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  return call.ends(make(made, size, Kind::kPinned));
}

FAKE_EXPORT CUresult cuMemFreeHost(void* memory) {
  FAKE_CALL(call, cuMemFreeHost, memory);
  return call.ends(give_back(memory, Kind::kPinned));
}

FAKE_EXPORT CUresult cuMemHostRegister_v2(void* memory, std::size_t size, unsigned flags) {
  FAKE_CALL(call, cuMemHostRegister, memory, size, flags);
  if (is_page_locked(memory))
    return call.ends(712); // CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
  add_range(memory, size, Kind::kRegistered);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuMemHostUnregister(void* memory) {
  FAKE_CALL(call, cuMemHostUnregister, memory);
  return call.ends(remove_range(memory, Kind::kRegistered) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

FAKE_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned flags) {
  FAKE_CALL(call, cuMemHostGetDevicePointer, memory, flags);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return call.ends(is_page_locked(memory) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

// Gets one attribute, the type of the memory: 1 is the host's, 2 the device's, and 0 is unknown to the driver.
FAKE_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* wanted, void** values,
                                            CUdeviceptr address) {
  FAKE_CALL(call, cuPointerGetAttributes, count, address);
  if (count != 1 || wanted[0] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(lock_of_all);
  const Range* const range = range_of(address, 1);
  *static_cast<int*>(values[0]) = !range ? 0 : range->kind == Kind::kDevice || range->kind == Kind::kVariable ? 2 : 1;
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void* source, std::size_t size) {
  FAKE_CALL(call, cuMemcpyHtoD, target, source, size);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  if (!is_on_device(target, size))
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  std::memcpy(pointer(target), source, size);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuMemcpyDtoH_v2(void* target, CUdeviceptr source, std::size_t size) {
  FAKE_CALL(call, cuMemcpyDtoH, target, source, size);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  if (!is_on_device(source, size))
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  std::memcpy(target, pointer(source), size);
  return call.ends(CUDA_SUCCESS);
}

// Copies to the device. Pageable memory is read before the call returns, as by the driver.
FAKE_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void* source, std::size_t size, CUstream stream) {
  FAKE_CALL(call, cuMemcpyHtoDAsync, target, source, size, stream);
  if (!is_on_device(target, size))
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  if (is_page_locked(source))
    return call.ends(queue(stream, [=] { std::memcpy(pointer(target), source, size); }));
  const auto* const first = static_cast<const char*>(source);
  return call.ends(
      queue(stream, [=, bytes = std::string(first, size)] { std::memcpy(pointer(target), bytes.data(), size); }));
}

// Copies to the host. Into pageable memory, waits for earlier commands, as the driver does.
FAKE_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* target, CUdeviceptr source, std::size_t size, CUstream stream) {
  FAKE_CALL(call, cuMemcpyDtoHAsync, target, source, size, stream);
  if (!is_on_device(source, size))
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  const CUresult result = queue(stream, [=] { std::memcpy(target, pointer(source), size); });
  if (result == CUDA_SUCCESS && !is_page_locked(target))
    wait_for(*find(stream));
  return call.ends(result);
}

FAKE_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, std::size_t size, CUstream stream) {
  FAKE_CALL(call, cuMemcpyDtoDAsync, target, source, size, stream);
  if (!is_on_device(source, size) || !is_on_device(target, size))
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  return call.ends(queue(stream, [=] { std::memmove(pointer(target), pointer(source), size); }));
}

FAKE_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from,
                                       std::size_t size, CUstream stream) {
  FAKE_CALL(call, cuMemcpyPeerAsync, target, to, source, from, size, stream);
  if (!is_on_device(source, size) || !is_on_device(target, size))
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  return call.ends(queue(stream, [=] { std::memmove(pointer(target), pointer(source), size); }));
}

FAKE_EXPORT CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, std::size_t size, CUstream stream) {
  FAKE_CALL(call, cuMemsetD8Async, target, static_cast<int>(value), size, stream);
  if (!is_on_device(target, size))
    return call.ends(CUDA_ERROR_INVALID_VALUE);
  return call.ends(queue(stream, [=] { std::memset(pointer(target), value, size); }));
}

// Used by LLVM's plugin.
FAKE_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* made, std::size_t size, CUstream stream) {
  FAKE_CALL(call, cuMemAllocAsync, size, stream);
  if (stream && !find(stream))
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  return ends_with(call, make(reinterpret_cast<void**>(made), size, Kind::kDevice), made);
}

FAKE_EXPORT CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
  FAKE_CALL(call, cuMemFreeAsync, memory, stream);
  if (const CUresult result = queue(stream, [] {}); result != CUDA_SUCCESS)
    return call.ends(result);
  return call.ends(give_back(pointer(memory), Kind::kDevice));
}
