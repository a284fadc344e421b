// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main function of every test program: its test cases, or one scenario.
#define DOCTEST_CONFIG_IMPLEMENT
#include "scenario.h"

#include <array>
#include <cstring>
#include <doctest/doctest.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace {
std::map<std::string, int (*)()>& scenarios() {
  static std::map<std::string, int (*)()> all;
  return all;
}
} // namespace

Scenario::Scenario(const char* name, int (*body)()) {
  scenarios()[name] = body;
}

Outcome run_scenario(const std::string& name, const std::vector<std::string>& environment, const std::string& program) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    for (const std::string& variable : environment)
      ::putenv(const_cast<char*>(variable.c_str()));
    ::execl(program.c_str(), "runtime_tests", "--scenario", name.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  Outcome outcome;
  std::array<char, 4096> piece;
  for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;)
    outcome.output.append(piece.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return outcome;
}

int main(int count, char** arguments) {
  if (count == 3 && std::strcmp(arguments[1], "--scenario") == 0) {
    const auto found = scenarios().find(arguments[2]);
    return found == scenarios().end() ? 126 : found->second();
  }
  return doctest::Context(count, arguments).run();
}
