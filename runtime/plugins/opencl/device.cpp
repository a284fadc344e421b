// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.h"

#include "common/calls.h"
#include "loader.h"

#include <cstring>
#include <stdexcept>

namespace omptool::opencl {

namespace {

// A queue for one command that is waited for.
class Borrowed {
public:
  explicit Borrowed(Device& device) : queue(device.take_queue()), device_(device) {}
  ~Borrowed() { device_.give_back(queue); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  const cl_command_queue queue;

private:
  Device& device_;
};

} // namespace

// No lock: the driver may load libraries, and threads that do so may come here. The first context stays.
std::int32_t Device::start() {
  if (has_started())
    return 0;
  cl_int error = CL_SUCCESS;
  const cl_context context = cl_.clCreateContext(nullptr, 1, &found_.device, nullptr, nullptr, &error);
  if (!context)
    return fail(failure_of("clCreateContext", error));
  auto made = std::unique_ptr<Started>(new Started{context, {cl_, found_, context}});
  Started* known = nullptr;
  if (started_.compare_exchange_strong(known, made.get()))
    made.release();
  else
    cl_.clReleaseContext(context);
  return 0;
}

tgt_target_table* Device::load(__tgt_device_image* image) {
  const Target target{cl_, found_, started_.load()->context, memory(), found_.number};
  std::unique_ptr<Image> loaded = Image::load(target, *image);
  if (!loaded)
    return nullptr;
  name_running_kernels(found_);
  tgt_target_table* const table = loaded->table();
  const std::lock_guard lock(mutex_);
  images_[image] = std::move(loaded);
  return table;
}

std::int32_t Device::unload(const __tgt_device_image* image) {
  std::unique_ptr<Image> gone; // without the lock
  const std::lock_guard lock(mutex_);
  const auto at = images_.find(image);
  if (at == images_.end())
    return fail("this image is not loaded");
  gone = std::move(at->second);
  images_.erase(at);
  return 0;
}

cl_command_queue Device::take_queue() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const cl_command_queue queue = idle_.back();
      idle_.pop_back();
      return queue;
    }
  }
  cl_int error = CL_SUCCESS;
  const cl_command_queue queue = cl_.clCreateCommandQueue(started_.load()->context, found_.device, 0, &error);
  if (!queue)
    throw std::runtime_error(failure_of("clCreateCommandQueue", error));
  return queue;
}

cl_int Device::mark(cl_command_queue queue, const Order& order) const {
  return cl_.clEnqueueMarkerWithWaitList(queue, order.count(), order.events(), order.made);
}

void Device::give_back(cl_command_queue queue) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(queue);
}

template <typename Enqueue> std::int32_t Device::run_now(const std::string& call, const Enqueue& enqueue) {
  const Borrowed borrowed(*this);
  cl_event event = nullptr;
  if (const std::int32_t result = enqueue(borrowed.queue, Order{{}, &event}))
    return result;
  cl_int status = cl_.clWaitForEvents(1, &event);
  if (status != CL_SUCCESS)
    if (const cl_int known = status_of(cl_, event); known <= CL_COMPLETE) // it says more
      status = known;
  cl_.clReleaseEvent(event);
  if (status == CL_SUCCESS)
    return 0;
  fail(failure_of(call.c_str(), status));
  return status == CL_DEVICE_NOT_AVAILABLE ? OMPTARGET_RTL_DEVICE_LOST : 1;
}

std::int32_t Device::copy(void* target, const void* source, std::int64_t size) {
  if (size < 0)
    return fail("a size of " + std::to_string(size) + " bytes");
  const auto length = static_cast<std::size_t>(size);
  if (found_.is_direct) {
    if (size > 0 && target != source)
      std::memmove(target, source, length);
    return 0;
  }
  if (size == 0)
    return 0;
  return run_now(memory().copy_call(), [&](cl_command_queue queue, const Order& order) {
    const cl_int error = memory().copy(queue, target, source, length, order);
    return error == CL_SUCCESS ? 0 : fail(failure_of(memory().copy_call(), error));
  });
}

std::int32_t Device::fill(void* target, std::int32_t value, std::int64_t size) {
  if (size < 0)
    return fail("a size of " + std::to_string(size) + " bytes");
  const auto length = static_cast<std::size_t>(size);
  if (found_.is_direct && size > 0)
    std::memset(target, value, length);
  if (found_.is_direct || size == 0)
    return 0;
  return run_now(memory().fill_call(), [&](cl_command_queue queue, const Order& order) {
    const cl_int error = memory().fill(queue, target, static_cast<unsigned char>(value), length, order);
    return error == CL_SUCCESS ? 0 : fail(failure_of(memory().fill_call(), error));
  });
}

std::int32_t Device::run(void* kernel, void** arguments, std::int32_t count, Shape shape) {
  if (!kernel)
    return fail("no kernel");
  Kernel& known = *static_cast<Kernel*>(kernel);
  const Running running(found_, known.name());
  return run_now(known.launch_call(), [&](cl_command_queue queue, const Order& order) {
    return known.launch(queue, arguments, count, shape, order);
  });
}

} // namespace omptool::opencl
