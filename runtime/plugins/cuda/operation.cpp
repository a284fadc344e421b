// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operation.h"

#include "common/calls.h"

#include <utility>

namespace omptool::cuda {
namespace {

Operation::Small small_of(Operation::Small way, std::size_t size) {
  return size <= kLargestGathered ? way : Operation::Small::kNo;
}

Piece piece_of(void* device, const void* host, std::size_t size) {
  return {reinterpret_cast<CUdeviceptr>(device), static_cast<std::byte*>(const_cast<void*>(host)), size};
}

} // namespace

std::string name_of(const Operation& operation) {
  return operation.kernel ? "kernel " + operation.kernel->title()
                          : operation.what + (" of " + std::to_string(operation.size) + " bytes");
}

OperationPtr move_operation(const Context& context, const char* what, std::size_t size, Move move) {
  auto operation = std::make_shared<Operation>();
  operation->what = what;
  operation->size = size;
  operation->work = [&context, what, size, own = std::move(move)](CUstream stream, CUdeviceptr&) {
    const Outcome outcome = context.in_stream([&] { return own(stream); });
    return outcome.ok() ? 0 : fail_of(context.driver, outcome, what + (" of " + std::to_string(size) + " bytes"));
  };
  return operation;
}

void set_copy_in(Operation& operation, Device& device, void* target, const void* host) {
  constexpr std::size_t kLeastLong = std::size_t{4} << 20; // of less the driver takes the bytes at once
  operation.only_reads = true;
  operation.is_long = operation.size >= kLeastLong && !device.host_memory().is_locked(host, operation.size);
  operation.small = small_of(Operation::Small::kIn, operation.size);
  operation.piece = piece_of(target, host, operation.size);
}

void set_copy_out(Operation& operation, Device& device, void* host, const void* source) {
  operation.is_long = !device.host_memory().is_locked(host, operation.size);
  operation.piece = piece_of(const_cast<void*>(source), host, operation.size);
  if (operation.is_long && device.memory().is_in_one_slab(operation.piece.device, operation.piece.size))
    operation.small = small_of(Operation::Small::kOut, operation.size);
}

std::int32_t Chain::wait_for(const MarkPtrs& marks, const Operation& operation) {
  const Context& context = device.context();
  std::int32_t failure = 0;
  if (!stream)
    stream = device.streams().take(failure);
  for (const MarkPtr& mark : marks)
    if (!failure) {
      const Outcome outcome =
          context.in_stream([&] { return OMPTOOL_CUDA(context.driver, cuStreamWaitEvent, stream, mark->event, 0); });
      failure = outcome.ok() ? 0 : fail_of(context.driver, outcome, name_of(operation));
    }
  return failure;
}

} // namespace omptool::cuda
