// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel.h"

#include "common/calls.h"

namespace omptool::cuda {
namespace {

void ask_for_parameters(const Driver& driver, CUfunction function, KernelFacts& facts) {
  if (!driver.cuFuncGetParamInfo)
    return;
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0, size = 0;
    const CUresult result = driver.cuFuncGetParamInfo(function, i, &offset, &size);
    facts.parameters_are_known = result == CUDA_ERROR_INVALID_VALUE; // behind the last one
    if (result != CUDA_SUCCESS)
      return;
    facts.parameters = offset + size;
  }
}

} // namespace

const KernelFacts* Kernel::facts(const Context& context) {
  if (is_known_.load(std::memory_order_acquire))
    return &facts_;
  const std::lock_guard lock(mutex_);
  if (is_known_)
    return &facts_;
  const Driver& driver = context.driver;
  KernelFacts found;
  Outcome outcome = context.enter();
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuFuncGetAttribute, &found.most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                           function_);
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuFuncGetAttribute, &found.memory, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function_);
  if (outcome.ok())
    outcome =
        OMPTOOL_CUDA(driver, cuOccupancyMaxPotentialBlockSize, &found.blocks, &found.threads, function_, nullptr, 0, 0);
  if (!outcome.ok()) {
    fail_of(driver, outcome, "kernel " + title());
    return nullptr;
  }
  ask_for_parameters(driver, function_, found);
  facts_ = found;
  is_known_.store(true, std::memory_order_release);
  return &facts_;
}

bool Kernel::allow_memory(const Context& context, unsigned size) {
  const std::lock_guard lock(mutex_);
  if (size <= allowed_)
    return true;
  Outcome outcome = context.enter();
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(context.driver, cuFuncSetAttribute, function_,
                           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(size));
  if (outcome.ok()) {
    allowed_ = size;
    return true;
  }
  fail_of(context.driver, outcome, "kernel " + title() + " with " + std::to_string(size) + " bytes of each team's own");
  return false;
}

} // namespace omptool::cuda
