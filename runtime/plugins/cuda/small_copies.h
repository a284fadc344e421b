// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "completion.h"

namespace omptool::cuda {

// Small copies that go in one transfer (gather.h): copies to the GPU with which a chain begins, until something else is
// handed over or somebody waits for them, and neighbouring copies from the GPU. Its functions need the lock of the
// events, and give it up in between.
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
