// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scenarios: functions of a test that run in a process of their own. No header of the runtime's.
#pragma once

#include <string>
#include <unistd.h>
#include <vector>

std::vector<char> read_file(const std::string& path);
std::vector<char> image_file(const std::string& name); // of tests/images

// Outcome of a scenario.
struct Outcome {
  int code = -1;      // exit code, or -1
  int signal = 0;     // that killed it, or 0
  std::string output; // stdout and stderr
  bool has(const std::string& text) const { return output.find(text) != std::string::npos; }
};
// Runs the scenario in a fresh process, with more environment variables ("NAME=value").
Outcome run_scenario(const std::string& name, const std::vector<std::string>& environment = {},
                     const std::string& program = "/proc/self/exe");

// Ends the process by SIGALRM if it is still there then, on a machine that is not emulated.
inline void end_after(unsigned seconds) {
  ::alarm(seconds * SLOWNESS);
}

struct Scenario {
  Scenario(const char* name, int (*body)());
};
// SCENARIO_OF(name) { ...; return 0; }: a function that run_scenario can start; non-zero is failure.
#define SCENARIO_OF(name)                                                                                              \
  static int name();                                                                                                   \
  static const Scenario scenario_##name(#name, name);                                                                  \
  static int name()
// Fails a scenario, with the condition that does not hold.
#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                     \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (false)
