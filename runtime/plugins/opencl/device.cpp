// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.h"

#include "common/calls.h"
#include "common/description.h"
#include "common/launch_shape.h"
#include "loader.h"
#include "queue.h"

#include <cstring>
#include <stdexcept>

namespace omptool::opencl {
namespace {

constexpr char kDevice[] = "OpenCL"; // in messages

// Returns what the function shall, of a call of OpenCL's that queues something.
std::int32_t result_of(const char* call, cl_int error) {
  return error == CL_SUCCESS ? 0 : fail(failure_of(call, error));
}

std::int32_t not_reached() {
  fail("OpenCL copies nothing between two devices");
  return OMPTARGET_RTL_NOT_STARTED;
}

// Borrowed queue for one command, which the caller waits for.
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

// Starts the device without a lock: the driver may load libraries, and a thread that loads libraries may come here. The
// first context stays.
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

void* Device::allocate(std::size_t size, std::int32_t kind) {
  return memory().allocate(size, kind);
}
std::int32_t Device::release(void* at, std::int32_t) {
  return memory().release(at);
}

std::int32_t Device::submit(void* target, const void* source, std::size_t size) {
  return copy(target, source, size);
}
std::int32_t Device::retrieve(void* target, const void* source, std::size_t size) {
  return copy(target, source, size);
}
std::int32_t Device::queue_submit(void* target, const void* source, std::size_t size,
                                  const plugin::Dependences& order) {
  return queue_copy(target, source, size, order);
}
std::int32_t Device::queue_retrieve(void* target, const void* source, std::size_t size,
                                    const plugin::Dependences& order) {
  return queue_copy(target, source, size, order);
}

tgt_target_table* Device::load(const __tgt_device_image& image) {
  const Target target{cl_, found_, started_.load()->context, memory(), found_.number};
  std::unique_ptr<Image> loaded = Image::load(target, image);
  if (!loaded)
    return nullptr;
  name_running_kernels(found_);
  if (run_alone(loaded->constructors()))
    return nullptr;
  return images_.add(image, std::move(loaded));
}

std::int32_t Device::unload(const __tgt_device_image& image) {
  return images_.take(image) ? 0 : 1;
}

std::int32_t Device::run_alone(Kernel* kernel) {
  const std::optional<Launch> launch = kernel ? kernel->prepare({}, {1, 1, 0}, loans_) : std::nullopt;
  return launch ? run_now(*kernel, *launch) : kernel ? 1 : 0;
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

std::int32_t Device::copy(void* target, const void* source, std::size_t size) {
  if (!found_.is_direct)
    return run_now(memory().copy_call(), [&](cl_command_queue queue, const Order& order) {
      return result_of(memory().copy_call(), memory().copy(queue, target, source, size, order));
    });
  if (target != source)
    std::memmove(target, source, size);
  return 0;
}

std::int32_t Device::fill(void* target, std::int32_t value, std::size_t size) {
  if (!found_.is_direct)
    return run_now(memory().fill_call(), [&](cl_command_queue queue, const Order& order) {
      return result_of(memory().fill_call(),
                       memory().fill(queue, target, static_cast<unsigned char>(value), size, order));
    });
  std::memset(target, value, size);
  return 0;
}

std::int32_t Device::receive(void* target, plugin::Device& from, const void* source, std::size_t size) {
  return &from == this ? copy(target, source, size) : not_reached();
}

std::int32_t Device::run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* asked) {
  const std::optional<plugin::FlatShape> shape = plugin::flat_shape(asked, kDevice);
  if (!shape)
    return OMPTARGET_RTL_NOT_STARTED;
  Kernel& known = *static_cast<Kernel*>(kernel);
  const std::optional<Launch> launch = known.prepare(arguments, *shape, loans_);
  return launch ? run_now(known, *launch) : OMPTARGET_RTL_NOT_STARTED;
}

std::int32_t Device::run_now(Kernel& kernel, const Launch& launch) {
  const Running running(found_, kernel.title());
  return run_now(kernel.launch_call(),
                 [&](cl_command_queue queue, const Order& order) { return kernel.launch(queue, launch, order); });
}

std::int32_t Device::queue_nothing(const plugin::Dependences& order) {
  constexpr char kCall[] = "clEnqueueMarkerWithWaitList";
  return queue_.add(*this, order, kCall, {}, [&](cl_command_queue queue, const Order& known) {
    return result_of(kCall, cl_.clEnqueueMarkerWithWaitList(queue, known.count(), known.events(), known.made));
  });
}

std::int32_t Device::queue_copy(void* target, const void* source, std::size_t size, const plugin::Dependences& order) {
  const char* const call = memory().copy_call();
  return queue_.add(*this, order, call, {}, [&](cl_command_queue queue, const Order& known) {
    return result_of(call, memory().copy(queue, target, source, size, known));
  });
}

std::int32_t Device::queue_fill(void* target, std::int32_t value, std::size_t size, const plugin::Dependences& order) {
  const char* const call = memory().fill_call();
  return queue_.add(*this, order, call, {}, [&](cl_command_queue queue, const Order& known) {
    return result_of(call, memory().fill(queue, target, static_cast<unsigned char>(value), size, known));
  });
}

std::int32_t Device::queue_run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* asked,
                               const plugin::Dependences& order) {
  const std::optional<plugin::FlatShape> shape = plugin::flat_shape(asked, kDevice);
  if (!shape)
    return OMPTARGET_RTL_NOT_STARTED;
  Kernel& known = *static_cast<Kernel*>(kernel);
  const std::optional<Launch> launch = known.prepare(arguments, *shape, loans_);
  if (!launch)
    return OMPTARGET_RTL_NOT_STARTED;
  return queue_.add(
      *this, order, known.launch_call(), Running(found_, known.title()),
      [&](cl_command_queue queue, const Order& its_order) { return known.launch(queue, *launch, its_order); },
      launch->lent);
}

bool Device::reaches_host_memory() const {
  if (!found_.reaches_host_memory)
    fail("the device reaches only memory that its driver has allocated: it has neither fine-grained system SVM nor "
         "shared system memory of cl_intel_unified_shared_memory");
  return found_.reaches_host_memory;
}

std::int32_t Device::describe(tgt_device_description& description) const {
  description.units = found_.units;
  description.memory = found_.global_memory;
  description.team_memory = found_.team_memory;
  description.threads = static_cast<std::uint32_t>(found_.most_threads);
  put(found_.spirv, description.architecture);
  put(found_.name, description.name);
  put(found_.driver, description.driver);
  put("SPIR-V, native, bitcode", description.images);
  return 0;
}

} // namespace omptool::opencl
