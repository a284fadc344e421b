// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps modules that `omptool lower` could not compile from being tried again at once: the cache holds the reason for
// kLifetime. Holds only refusals of the module: a thing that the machine lacks may be there a moment later.
#pragma once

#include "cache.h"

#include <chrono>
#include <ctime>
#include <string>

namespace omptool::compile {

class Failures {
public:
  static constexpr std::chrono::seconds kLifetime{600};

  // Failures to compile the image with this key, by the helper in its present version.
  Failures(const Cache& cache, const std::string& key, const std::string& helper, std::time_t now = ::time(nullptr));

  // Finds the reason of a recorded failure, with its age, or "".
  std::string find() const;
  // Returns why the reason could not be stored, or "".
  std::string store(const std::string& reason) const;

private:
  const Cache& cache_;
  std::string key_;
  std::time_t now_;
};

} // namespace omptool::compile
