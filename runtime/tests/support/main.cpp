// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main function of every test program: its test cases, or one scenario.
#define DOCTEST_CONFIG_IMPLEMENT
#include "scenario.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <map>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
std::map<std::string, int (*)()>& scenarios() {
  static std::map<std::string, int (*)()> all;
  return all;
}

// This process's environment, with other values of the variables in `more`; of two for one, the last.
std::vector<char*> environment_with(const std::vector<std::string>& more) {
  std::vector<char*> variables;
  for (char** variable = environ; *variable; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "=") + 1);
    if (std::none_of(more.begin(), more.end(), [&](const std::string& other) { return other.starts_with(name); }))
      variables.push_back(*variable);
  }
  for (auto variable = more.rbegin(); variable != more.rend(); ++variable)
    variables.push_back(const_cast<char*>(variable->c_str()));
  variables.push_back(nullptr);
  return variables;
}

// qemu adds a line where a signal ends a program.
void drop_line_of_emulator(std::string& output) {
  if (const std::size_t at = output.find("qemu: uncaught target signal"); at != std::string::npos)
    output.erase(at, output.find('\n', at) - at + 1);
}
} // namespace

Scenario::Scenario(const char* name, int (*body)()) {
  scenarios()[name] = body;
}

Outcome run_scenario(const std::string& name, const std::vector<std::string>& environment, const std::string& program) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  // Spawns without fork(), which would copy the page tables of the sanitizers' shadow memory.
  posix_spawn_file_actions_t output;
  ::posix_spawn_file_actions_init(&output);
  ::posix_spawn_file_actions_adddup2(&output, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&output, ends[1], STDERR_FILENO);
  const char* const words[] = {"runtime_tests", "--scenario", name.c_str(), nullptr};
  std::vector<char*> variables = environment_with(environment);
  pid_t child = 0;
  const int fault =
      ::posix_spawn(&child, program.c_str(), &output, nullptr, const_cast<char**>(words), variables.data());
  ::posix_spawn_file_actions_destroy(&output);
  ::close(ends[1]);
  REQUIRE(fault == 0);
  Outcome outcome;
  std::array<char, 4096> piece;
  for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;)
    outcome.output.append(piece.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  drop_line_of_emulator(outcome.output);
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
