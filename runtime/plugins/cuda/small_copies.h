// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "completion.h"

namespace omptool::cuda {

// Small copies that share one transfer (gather.h): copies to the GPU at the start of a chain, until another operation
// is submitted or a thread waits for them, and neighbouring copies from the GPU. Its functions require the lock of the
// events, and release it while they call the driver.
class SmallCopies {
public:
  explicit SmallCopies(Completion& completion) : completion_(completion) {}

  static bool may_gather(const Operation& operation, const MarkPtrs& marks);
  bool add(const OperationPtr& operation, std::int32_t& failure, Lock& lock);
  std::int32_t send(Chain& chain, Lock& lock);
  bool send_if_free(const std::shared_ptr<Chain>& chain, Lock& lock);
  void send_all(Lock& lock);
  void fetch(const std::shared_ptr<Chain>& chain, const MarkPtrs& marks, Lock& lock);

private:
  using OperationPtrs = std::vector<OperationPtr>;

  void fail_all(Chain& chain, std::int32_t failure);
  static bool may_join(const Operation& operation, const OperationPtrs& together);

  Completion& completion_;
  int gathers_ = 0; // of chains, that the driver has not got yet
};

} // namespace omptool::cuda
