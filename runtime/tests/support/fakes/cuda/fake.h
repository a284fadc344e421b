// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: a driver library for plugins/cuda without a GPU. Device memory is the host's, streams are threads, and no code
// of an image ever runs: this says something of the order and the arguments of calls, and nothing of kernels.
//
//   FAKE_CUDA_LOG=FILE      a line for each call: name, arguments, "= result"
//   FAKE_CUDA_CONTENTS=N    a line "# runs" when a kernel would, with its name, and of each argument the value and
//                           the first N bytes of the device's memory that it points to, "-" for others
//   FAKE_CUDA_FAIL_AT=N     the N-th call that can fail does, counted from 1
//   FAKE_CUDA_FAIL_ON=1     and so does every call after it
//   FAKE_CUDA_FAIL_IN=name  the calls of this function only
//   FAKE_CUDA_FAIL_WITH=N   the result of calls that fail, 999 if not set
//   FAKE_CUDA_DEVICES=N     so many devices, not 1
//   FAKE_CUDA_ARCH=N        of sm_N, not sm_90
//   FAKE_CUDA_PTX=N         the newest PTX that it takes: 87 is 8.7
//   FAKE_CUDA_VERSION=N     the driver is of this CUDA, not of 12.4: 12080 is 12.8
//   FAKE_CUDA_MEMORY=N      devices of N MiB, not 16 GiB
//   FAKE_CUDA_PAGEABLE=1    devices that reach all memory of the host
//   FAKE_CUDA_FAULT=name    this kernel faults: all that follows on its device fails
//   FAKE_CUDA_KERNELS=FILE  a shared object with functions that are called in place of the kernels of their names, and
//                           variables in place of theirs
//
// Wrong handles, addresses outside of any memory and the like are said on stderr as "FAKE: ...".
#pragma once

#include "driver/driver_api.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <sstream>
#include <string>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

using namespace omptool::cuda;

long number_in(const char* name, long otherwise);
void misuse(const std::string& what);

// One call of the driver: whether it shall fail, and its line in the log.
class Call {
public:
  template <typename... Values> explicit Call(const char* function, const Values&... values) : function_(function) {
    ((line_ << ' ' << values), ...);
  }
  // Returns the result that the test asks for or that a fault has left, else success.
  CUresult before();
  template <typename Value> void note(const Value& value) { line_ << ' ' << value; }
  CUresult ends(CUresult result);

private:
  const char* function_;
  std::ostringstream line_;
};

// One lock guards what all threads see; threads that wait for a change are told.
extern std::mutex& lock_of_all;
extern std::condition_variable& changed;

// A device's fault stays.
void set_fault(CUresult result);

} // namespace fake_cuda

// The body of an exported function: FAKE_CALL(call, cuInit, flags); ... return call.ends(CUDA_SUCCESS);
#define FAKE_CALL(call, function, ...)                                                                                 \
  ::fake_cuda::Call call(#function __VA_OPT__(, ) __VA_ARGS__);                                                        \
  if (const ::omptool::cuda::CUresult failed = call.before(); failed != ::omptool::cuda::CUDA_SUCCESS)                 \
  return call.ends(failed)
