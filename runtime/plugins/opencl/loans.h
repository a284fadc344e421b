// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that a launch lends its kernel for a reduction over teams: clang's record, and a record of each team. Blocks
// are used again, so that a launch asks the driver for none.
#pragma once

#include "memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool::opencl {

class Loans;

// Loan of a block, until it is destroyed.
class Loan {
public:
  Loan(Loans& loans, void* block, std::size_t size) : loans_(loans), block_(block), size_(size) {}
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  void* block() const { return block_; }
  std::vector<std::byte>& record() { return record_; } // the host's copy, until the device has it

private:
  Loans& loans_;
  void* const block_;
  const std::size_t size_;
  std::vector<std::byte> record_;
};

// Loans of one device's memory to kernels, each for one launch.
class Loans {
public:
  // Borrows memory. Returns null, with last_error set, if there is none.
  std::shared_ptr<Loan> take(Memory& memory, std::size_t size);

private:
  friend class Loan;
  struct Block {
    void* at;
    std::size_t size;
  };
  // Returns an unused block of the size, or null. `surplus` becomes a block to be freed, or null.
  Block reused(std::size_t size, void*& surplus);

  std::mutex mutex_;
  std::vector<Block> idle_; // under the lock
};

} // namespace omptool::opencl
