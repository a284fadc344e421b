// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fake.h"

#include "state.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace fake_cuda {
namespace {

std::atomic<CUresult> fault{CUDA_SUCCESS};

bool shall_fail(const char* function) {
  static std::atomic<long> calls{0};
  static const long at = number_in("FAKE_CUDA_FAIL_AT", 0);
  static const bool stay = number_in("FAKE_CUDA_FAIL_ON", 0) != 0;
  static const char* const only = std::getenv("FAKE_CUDA_FAIL_IN");
  if (at == 0 || (only && std::strcmp(only, function) != 0))
    return false;
  const long call = ++calls;
  if (call == at)
    std::fprintf(stderr, "FAKE: call %ld, %s, fails\n", call, function);
  return stay ? call >= at : call == at;
}

} // namespace

// Lock of all state. Never destroyed, because streams are threads that outlive main().
std::mutex& lock_of_all = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}

void misuse(const std::string& what) {
  std::fprintf(stderr, "FAKE: %s\n", what.c_str());
}

CUresult fault_now() {
  return fault;
}

void set_fault(CUresult result) {
  fault = result;
}

CUresult Call::before() {
  if (shall_fail(function_))
    return static_cast<CUresult>(number_in("FAKE_CUDA_FAIL_WITH", CUDA_ERROR_UNKNOWN));
  return fault_now();
}

CUresult Call::ends(CUresult result) {
  static const int log = [] {
    const char* const path = std::getenv("FAKE_CUDA_LOG");
    return path ? ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  }();
  if (log >= 0) {
    const std::string line = function_ + line_.str() + " = " + std::to_string(result) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(log, line.data(), line.size());
  }
  return result;
}

} // namespace fake_cuda
