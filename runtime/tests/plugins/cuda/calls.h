// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fake driver's log (support/fakes/cuda/fake.h).
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

// A log of this process's, from here on.
class CallLog {
public:
  // The names of the driver's functions that were called since the last time.
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const std::string& line : lines())
      all.push_back(line.substr(0, line.find(' ')));
    return all;
  }
  std::vector<std::string> lines() {
    std::ifstream file(path());
    file.seekg(read_);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line); read_ += static_cast<std::streamoff>(line.size() + 1))
      all.push_back(line);
    return all;
  }
  // Path for the whole process, set before the first call of the driver.
  static std::string path() {
    static const std::string& name = *new std::string([] { // read at exit, too
      const std::string made = std::string(P_tmpdir) + "/fake_cuda_" + std::to_string(::getpid()) + ".log";
      ::unlink(made.c_str()); // of a process that had this number before and did not end well
      ::setenv("FAKE_CUDA_LOG", made.c_str(), 1);
      std::atexit([] { ::unlink(path().c_str()); });
      return made;
    }());
    return name;
  }

private:
  std::streamoff read_ = 0;
};

// Scenarios are no test cases: what does not hold in what they use ends them.
class OutsideOfTests {
public:
  OutsideOfTests() {
    context_.setAsDefaultForAssertsOutOfTestCases();
    context_.setAssertHandler([](const doctest::AssertData& data) {
      if (data.m_failed) {
        std::fprintf(stderr, "%s:%d: not so: %s\n", data.m_file, data.m_line, data.m_expr);
        ::_exit(1);
      }
    });
  }

private:
  doctest::Context context_;
};
