// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.h"

#include "common/calls.h"
#include "common/description.h"
#include "compile/compiled.h"
#include "gpu/settings.h"
#include "queue.h"

#include <utility>

namespace omptool::cuda {
namespace {

CUdeviceptr address(const void* target) {
  return reinterpret_cast<CUdeviceptr>(target);
}

} // namespace

std::int32_t Device::start() {
  const std::lock_guard lock(mutex_);
  return is_ready_ || start_now() ? 0 : 1;
}

Outcome Device::find_limits() {
  int cooperates = 0, usual_memory = 0, shares_page_tables = 0;
  const std::pair<CUdevice_attribute, int*> wanted[] = {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &limits_.most_threads},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &usual_memory},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &limits_.most_memory},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &limits_.warp},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &limits_.units},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &limits_.threads_of_unit},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &cooperates},
      {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, &shares_page_tables},
  };
  for (const auto& [attribute, place] : wanted)
    if (const Outcome outcome = OMPTOOL_CUDA(context_.driver, cuDeviceGetAttribute, place, attribute, id_.device);
        !outcome.ok())
      return outcome;
  limits_.most_memory = std::max(limits_.most_memory, usual_memory);
  limits_.cooperates = cooperates != 0;
  shares_page_tables_ = shares_page_tables != 0;
  return {"cuDeviceGetAttribute", CUDA_SUCCESS};
}

// Sets the limits that LLVM's plugin offers programs, too.
Outcome Device::set_limits() {
  Outcome outcome{"cuCtxSetLimit", CUDA_SUCCESS};
  const std::pair<CUlimit, std::optional<std::uint64_t>> wanted[] = {{CU_LIMIT_STACK_SIZE, stack_of_threads()},
                                                                     {CU_LIMIT_MALLOC_HEAP_SIZE, heap_of_kernels()}};
  for (const auto& [limit, size] : wanted) {
    if (outcome.ok() && size)
      outcome = context_.enter();
    if (outcome.ok() && size)
      outcome = OMPTOOL_CUDA(context_.driver, cuCtxSetLimit, limit, *size);
  }
  return outcome;
}

bool Device::start_now() {
  Outcome outcome = find_limits();
  if (outcome.ok() && !context_.handle)
    outcome = context_.retain(id_.device);
  if (outcome.ok())
    outcome = set_limits();
  if (outcome.ok())
    is_ready_.store(true, std::memory_order_release);
  else
    fail_of(context_.driver, outcome, "the GPU cannot be used");
  return outcome.ok();
}

tgt_target_table* Device::load(const __tgt_device_image& image) {
  return load(image, {});
}

tgt_target_table* Device::load(const __tgt_device_image& image, Extents extents) {
  const Bytes bytes{static_cast<const std::byte*>(image.ImageStart), static_cast<const std::byte*>(image.ImageEnd)};
  const std::string processor = "sm_" + std::to_string(id_.capability);
  const compile::Compiled code = compile::compiled(bytes, {"nvptx64-nvidia-cuda", processor, {}});
  const std::string fault =
      code.fault.empty() ? fault_of(code.bytes, {id_.capability}, context_.driver.version) : code.fault;
  if (!fault.empty()) {
    fail(fault);
    return nullptr;
  }
  auto* const begin = const_cast<std::byte*>(code.bytes.data());
  const __tgt_device_image as_code{begin, begin + code.bytes.size(), image.EntriesBegin, image.EntriesEnd};
  std::unique_ptr<Image> loaded = Image::load(
      context_, as_code, extents, {id_.number, id_.count, limits_}); // without the lock: it may take seconds
  return loaded ? images_.add(image, std::move(loaded)) : nullptr;
}

std::int32_t Device::unload(const __tgt_device_image& image) {
  const std::unique_ptr<Image> gone = images_.take(image);
  return gone ? gone->unload() : 1;
}

void* Device::allocate(std::size_t size, std::int32_t kind) {
  return kind == OMPTARGET_MEMORY_DEVICE ? reinterpret_cast<void*>(memory_.allocate(size))
                                         : host_memory_.allocate(size, kind);
}

std::int32_t Device::release(void* memory, std::int32_t kind) {
  return kind == OMPTARGET_MEMORY_DEVICE ? memory_.release(address(memory)) : host_memory_.release(memory, kind);
}

// Stages a copy, unless the GPU uses the host's page tables: such a GPU copies from all host memory by itself.
std::optional<Outcome> Device::stage(CUstream stream, Staging::Way way, const void* device, const void* host,
                                     std::size_t size) {
  return shares_page_tables_ ? std::nullopt
                             : staging_.copy(stream, way, address(device), const_cast<void*>(host), size);
}

Outcome Device::submit_in(CUstream stream, void* target, const void* source, std::size_t size) {
  if (const std::optional<Outcome> staged = stage(stream, Staging::Way::kToDevice, target, source, size))
    return *staged;
  return OMPTOOL_CUDA(context_.driver, cuMemcpyHtoDAsync_v2, address(target), source, size, stream);
}

Outcome Device::retrieve_in(CUstream stream, void* target, const void* source, std::size_t size) {
  if (const std::optional<Outcome> staged = stage(stream, Staging::Way::kToHost, source, target, size))
    return *staged;
  return OMPTOOL_CUDA(context_.driver, cuMemcpyDtoHAsync_v2, target, address(source), size, stream);
}

Outcome Device::fill_in(CUstream stream, void* target, std::int32_t value, std::size_t size) const {
  return OMPTOOL_CUDA(context_.driver, cuMemsetD8Async, address(target), static_cast<unsigned char>(value), size,
                      stream);
}

template <typename Move> std::int32_t Device::move_now(const char* what, std::size_t size, const Move& move) {
  StreamOfCall stream(streams_);
  if (!stream.get())
    return stream.failure();
  Outcome outcome = context_.in_stream([&] { return move(stream.get()); });
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(context_.driver, cuStreamSynchronize, stream.get());
  if (outcome.ok())
    return 0;
  stream.abandon();
  return fail_of(context_.driver, outcome, what + (" of " + std::to_string(size) + " bytes"));
}

std::int32_t Device::submit(void* target, const void* source, std::size_t size) {
  return move_now(kSubmit, size, [&](CUstream stream) { return submit_in(stream, target, source, size); });
}

std::int32_t Device::retrieve(void* target, const void* source, std::size_t size) {
  return move_now(kRetrieve, size, [&](CUstream stream) { return retrieve_in(stream, target, source, size); });
}

std::int32_t Device::fill(void* target, std::int32_t value, std::size_t size) {
  return move_now(kFill, size, [&](CUstream stream) { return fill_in(stream, target, value, size); });
}

std::int32_t Device::receive(void* target, plugin::Device& from, const void* source, std::size_t size) {
  const auto& other = static_cast<const Device&>(from);
  return move_now(kReceive, size, [&](CUstream stream) {
    return &other == this
               ? OMPTOOL_CUDA(context_.driver, cuMemcpyDtoDAsync_v2, address(target), address(source), size, stream)
               : OMPTOOL_CUDA(context_.driver, cuMemcpyPeerAsync, address(target), context_.handle, address(source),
                              other.context_.handle, size, stream);
  });
}

std::int32_t Device::run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape) {
  CUdeviceptr lent = 0;
  std::optional<Launch> launch = prepare(launcher(), kernel, arguments, shape);
  if (!launch)
    return OMPTARGET_RTL_NOT_STARTED;
  StreamOfCall stream(streams_);
  if (!stream.get() || !cuda::start(launcher(), *launch, stream.get(), lent))
    return OMPTARGET_RTL_NOT_STARTED;
  const Outcome outcome = OMPTOOL_CUDA(context_.driver, cuStreamSynchronize, stream.get());
  memory_.release(lent);
  if (outcome.ok())
    return 0;
  stream.abandon();
  return fail_of(context_.driver, outcome, "kernel " + launch->kernel->title());
}

std::int32_t Device::queue_nothing(const plugin::Dependences& order) {
  const auto operation = std::make_shared<Operation>();
  operation->what = "a wait";
  return queue_.add(*this, order, operation);
}

std::int32_t Device::queue_submit(void* target, const void* source, std::size_t size,
                                  const plugin::Dependences& order) {
  const OperationPtr operation = move_operation(
      context_, kSubmit, size, [=, this](CUstream stream) { return submit_in(stream, target, source, size); });
  set_copy_in(*operation, *this, target, source);
  return queue_.add(*this, order, operation);
}

std::int32_t Device::queue_retrieve(void* target, const void* source, std::size_t size,
                                    const plugin::Dependences& order) {
  const OperationPtr operation = move_operation(
      context_, kRetrieve, size, [=, this](CUstream stream) { return retrieve_in(stream, target, source, size); });
  set_copy_out(*operation, *this, target, source);
  return queue_.add(*this, order, operation);
}

std::int32_t Device::queue_fill(void* target, std::int32_t value, std::size_t size, const plugin::Dependences& order) {
  return queue_.add(*this, order, move_operation(context_, kFill, size, [=, this](CUstream stream) {
    return fill_in(stream, target, value, size);
  }));
}

std::int32_t Device::queue_run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape,
                               const plugin::Dependences& order) {
  std::optional<Launch> launch = prepare(launcher(), kernel, arguments, shape);
  if (!launch)
    return OMPTARGET_RTL_NOT_STARTED;
  const auto operation = std::make_shared<Operation>();
  operation->kernel = launch->kernel;
  operation->work = [this, own = std::move(*launch)](CUstream stream, CUdeviceptr& lent) mutable {
    return cuda::start(launcher(), own, stream, lent) ? 0 : OMPTARGET_RTL_NOT_STARTED;
  };
  return queue_.add(*this, order, operation);
}

// Returns whether kernels reach heaps and stacks. Concurrent access to managed memory promises little more than memory
// of cuMemAllocManaged.
bool Device::reaches_host_memory() const {
  const Driver& driver = context_.driver;
  int pageable = 0, managed = 0;
  Outcome outcome =
      OMPTOOL_CUDA(driver, cuDeviceGetAttribute, &pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, id_.device);
  if (outcome.ok() && !pageable)
    outcome =
        OMPTOOL_CUDA(driver, cuDeviceGetAttribute, &managed, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, id_.device);
  if (!outcome.ok())
    fail_of(driver, outcome, "the GPU does not tell which memory it reaches");
  else if (!pageable)
    fail(std::string("the GPU reaches no pageable memory of the host's: PAGEABLE_MEMORY_ACCESS is 0, "
                     "CONCURRENT_MANAGED_ACCESS ") +
         (managed ? "1" : "0"));
  return outcome.ok() && pageable;
}

std::int32_t Device::describe(tgt_device_description& description) const {
  const Driver& driver = context_.driver;
  int units = 0, memory = 0, threads = 0;
  std::size_t total = 0;
  char name[sizeof description.name] = {};
  Outcome outcome = OMPTOOL_CUDA(driver, cuDeviceGetName, name, sizeof name - 1, id_.device);
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuDeviceTotalMem_v2, &total, id_.device);
  for (const auto& [attribute, place] : {std::pair{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &units},
                                         std::pair{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &memory},
                                         std::pair{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads}})
    if (outcome.ok())
      outcome = OMPTOOL_CUDA(driver, cuDeviceGetAttribute, place, attribute, id_.device);
  if (!outcome.ok())
    return fail_of(driver, outcome, "the GPU does not describe itself");
  description.units = static_cast<std::uint32_t>(units);
  description.memory = total;
  description.team_memory = static_cast<std::uint64_t>(memory);
  description.threads = static_cast<std::uint32_t>(threads);
  put("sm_" + std::to_string(id_.capability), description.architecture);
  put(name, description.name);
  if (const int version = driver.version)
    put("CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10), description.driver);
  put("PTX, cubin, fatbin, bitcode", description.images);
  return 0;
}

} // namespace omptool::cuda
