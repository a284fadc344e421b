// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.h"

#include "common/calls.h"
#include "common/description.h"
#include "queue.h"

#include <algorithm>
#include <stdexcept>

namespace omptool::liboffload {
namespace {

constexpr char kSubmit[] = "a copy to the GPU", kRetrieve[] = "a copy from the GPU", kFill[] = "a fill",
               kReceive[] = "a copy between GPUs";

std::string sized(const char* way, std::size_t size) {
  return way + (" of " + std::to_string(size) + " bytes");
}

} // namespace

// Starts the device without a lock of ours: the library may load other libraries, and a thread that loads libraries may
// come here. The first context stays.
std::int32_t Device::start() {
  ol_context made = nullptr;
  if (const ol_result failed = library_.create_context(found_.device, &made))
    return fail(failure_of("olCreateContext", failed));
  const std::lock_guard lock(mutex_);
  if (!has_started_) // else a context is left over, which costs little
    context_ = made;
  has_started_.store(true, std::memory_order_release);
  return 0;
}

std::int32_t Device::fault_if_lost() const {
  if (!is_lost_.load(std::memory_order_acquire))
    return 0;
  fail("the device is lost: " + why_lost_);
  return OMPTARGET_RTL_DEVICE_LOST;
}

bool Device::is_lost_by(const std::string& reason) {
  if (is_lost_.load(std::memory_order_acquire))
    return true;
  void* memory = nullptr;
  const char byte = 0;
  ol_result failed = library_.allocate(context_, found_.device, OL_ALLOC_DEVICE, sizeof byte, &memory);
  if (!failed)
    failed = library_.olMemcpy(nullptr, memory, found_.device, &byte, host_, sizeof byte);
  if (memory)
    library_.release(context_, memory);
  if (!failed)
    return false;
  const std::lock_guard lock(mutex_);
  if (!is_lost_)
    why_lost_ = reason;
  is_lost_.store(true, std::memory_order_release);
  return true;
}

std::int32_t Device::fail_of(const std::string& what, const char* call, ol_result failed) {
  const std::string reason = (what.empty() ? "" : what + ": ") + failure_of(call, failed);
  const bool may_be_lost = failed->code == OL_UNKNOWN || failed->code == OL_BACKEND_FAILURE;
  const bool is_lost = may_be_lost && is_lost_by(reason);
  fail(reason);
  return is_lost ? OMPTARGET_RTL_DEVICE_LOST : 1;
}

tgt_target_table* Device::load(const __tgt_device_image& image) {
  std::unique_ptr<Image> loaded = Image::load({library_, found_, host_, context_}, image);
  return loaded ? images_.add(image, std::move(loaded)) : nullptr;
}

void* Device::allocate(std::size_t size, std::int32_t kind) {
  if (fault_if_lost())
    return nullptr;
  const std::uint32_t type = kind == OMPTARGET_MEMORY_HOST     ? OL_ALLOC_HOST
                             : kind == OMPTARGET_MEMORY_SHARED ? OL_ALLOC_MANAGED
                                                               : OL_ALLOC_DEVICE;
  void* memory = nullptr;
  const ol_result failed = library_.allocate(context_, found_.device, type, std::max<std::size_t>(size, 1), &memory);
  if (!failed)
    return memory;
  fail("no memory for " + std::to_string(size) + " bytes: " + failure_of("olMemAlloc", failed));
  return nullptr;
}

std::int32_t Device::release(void* memory, std::int32_t) {
  const ol_result failed = memory ? library_.release(context_, memory) : nullptr;
  return failed ? fail("memory is not released: " + failure_of("olMemFree", failed)) : 0;
}

void* Device::lock(void* memory, std::int64_t size) {
  if (size <= 0) {
    fail("a size of " + std::to_string(size) + " bytes");
    return nullptr;
  }
  void* locked = nullptr;
  const ol_result failed =
      library_.olMemRegister(found_.device, memory, static_cast<std::size_t>(size), OL_LOCK_MEMORY, &locked);
  if (!failed)
    return locked;
  fail("memory is not page-locked: " + failure_of("olMemRegister", failed));
  return nullptr;
}

std::int32_t Device::unlock(void* memory) {
  const ol_result failed = library_.unregister(found_.device, memory);
  return failed ? fail("memory stays page-locked: " + failure_of("olMemUnregister", failed)) : 0;
}

ol_queue Device::take_queue() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const ol_queue queue = idle_.back();
      idle_.pop_back();
      return queue;
    }
  }
  ol_queue queue = nullptr;
  if (const ol_result failed = library_.create_queue(context_, found_.device, &queue))
    throw std::runtime_error(failure_of("olCreateQueue", failed));
  return queue;
}

// Returns the queue to the cache after its last operation. One more wait makes the library release what it kept for
// those operations.
void Device::give_back(ol_queue queue, bool is_broken) {
  if (is_broken || library_.olSyncQueue(queue)) {
    library_.olDestroyQueue(queue);
    return;
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(queue);
}

template <typename Enqueue> std::int32_t Device::run_now(const std::string& what, const Enqueue& enqueue) {
  if (const std::int32_t lost = fault_if_lost())
    return lost;
  const ol_queue queue = take_queue();
  std::int32_t result = enqueue(queue);
  const ol_result failed = result ? nullptr : library_.olSyncQueue(queue);
  if (failed)
    result = fail_of(what, "olSyncQueue", failed);
  const auto reason = last_error;
  give_back(queue, failed);
  last_error = reason;
  return result;
}

std::int32_t Device::copy(const char* way, void* target, ol_device to, const void* source, ol_device from,
                          std::size_t size) {
  if (const std::int32_t lost = fault_if_lost())
    return lost;
  return result_of(sized(way, size), "olMemcpy", library_.olMemcpy(nullptr, target, to, source, from, size));
}

std::int32_t Device::submit(void* target, const void* source, std::size_t size) {
  return copy(kSubmit, target, found_.device, source, host_, size);
}

std::int32_t Device::retrieve(void* target, const void* source, std::size_t size) {
  return copy(kRetrieve, target, host_, source, found_.device, size);
}

std::int32_t Device::receive(void* target, plugin::Device& from, const void* source, std::size_t size) {
  return copy(kReceive, target, found_.device, source, static_cast<Device&>(from).found_.device, size);
}

std::int32_t Device::fill(void* target, std::int32_t value, std::size_t size) {
  const auto byte = static_cast<unsigned char>(value);
  const std::string what = sized(kFill, size);
  return run_now(what, [&](ol_queue queue) {
    return result_of(what, "olMemFill", library_.olMemFill(queue, target, sizeof byte, &byte, size));
  });
}

// Launches a kernel. A kernel that the library refuses has not begun.
std::int32_t Device::launch_in(ol_queue queue, Launch& launch, void*& lent) {
  const char* call = "";
  const ol_result failed = liboffload::start(launcher(), launch, queue, lent, call);
  if (!failed)
    return 0;
  const std::int32_t result = fail_of("kernel " + launch.kernel->title(), call, failed);
  return result == OMPTARGET_RTL_DEVICE_LOST ? result : std::int32_t{OMPTARGET_RTL_NOT_STARTED};
}

std::int32_t Device::run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape) {
  std::optional<Launch> launch = prepare(found_, kernel, arguments, shape);
  if (!launch)
    return OMPTARGET_RTL_NOT_STARTED;
  void* lent = nullptr;
  const std::int32_t result =
      run_now("kernel " + launch->kernel->title(), [&](ol_queue queue) { return launch_in(queue, *launch, lent); });
  const auto reason = last_error;
  release(lent, OMPTARGET_MEMORY_DEVICE);
  last_error = reason;
  return result;
}

// Enqueues an operation whose event completes after its dependences.
std::int32_t Device::queue_nothing(const plugin::Dependences& order) {
  return queue_.add(*this, order, "an operation that joins others", false, [](ol_queue, void*&) { return 0; });
}

std::int32_t Device::queue_copy(const char* way, void* target, ol_device to, const void* source, ol_device from,
                                std::size_t size, const plugin::Dependences& order) {
  const std::string what = sized(way, size);
  return queue_.add(*this, order, what, false, [&](ol_queue queue, void*&) {
    return result_of(what, "olMemcpy", library_.olMemcpy(queue, target, to, source, from, size));
  });
}

std::int32_t Device::queue_submit(void* target, const void* source, std::size_t size,
                                  const plugin::Dependences& order) {
  return queue_copy(kSubmit, target, found_.device, source, host_, size, order);
}

std::int32_t Device::queue_retrieve(void* target, const void* source, std::size_t size,
                                    const plugin::Dependences& order) {
  return queue_copy(kRetrieve, target, host_, source, found_.device, size, order);
}

std::int32_t Device::queue_fill(void* target, std::int32_t value, std::size_t size, const plugin::Dependences& order) {
  const auto byte = static_cast<unsigned char>(value);
  const std::string what = sized(kFill, size);
  return queue_.add(*this, order, what, false, [&](ol_queue queue, void*&) {
    return result_of(what, "olMemFill", library_.olMemFill(queue, target, sizeof byte, &byte, size));
  });
}

std::int32_t Device::queue_run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape,
                               const plugin::Dependences& order) {
  std::optional<Launch> launch = prepare(found_, kernel, arguments, shape);
  if (!launch)
    return OMPTARGET_RTL_NOT_STARTED;
  return queue_.add(*this, order, "kernel " + launch->kernel->title(), true,
                    [&](ol_queue queue, void*& lent) { return launch_in(queue, *launch, lent); });
}

bool Device::reaches_host_memory() const {
  fail("liboffload does not tell whether kernels reach all memory of the host");
  return false;
}

std::int32_t Device::describe(tgt_device_description& description) const {
  description.units = found_.units;
  description.memory = found_.memory;
  description.team_memory = found_.team_memory;
  description.threads = found_.most_threads;
  put(found_.architecture, description.architecture);
  put(found_.name, description.name);
  put(found_.driver, description.driver);
  put(found_.backend == OL_BACKEND_AMDGPU ? "code object, bitcode"
      : found_.backend == OL_BACKEND_CUDA ? "cubin"
                                          : "SPIR-V",
      description.images);
  return 0;
}

} // namespace omptool::liboffload
