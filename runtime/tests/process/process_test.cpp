// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process we live in: decision 21; and names that two ABIs share: decision 4.
#include "../plugins/compile/module.h"
#include "llvm_calls.h"
#include "machine.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

SCENARIO_OF(fork_and_launch) {
  use_main();
  int values[4] = {1, 2, 3, 4};
  Rows rows{row(values, TOFROM | REF), value(4)};
  int marks[64] = {}, shape[3];
  Rows teams{row(marks, TOFROM | REF), row(shape, FROM | REF)};
  EXPECT(teams.teams(&host::team_square, 8, 8) == 0); // the pool has threads
  rows.begin();
  const pid_t child = ::fork();
  if (child == 0) {
    EXPECT(omp_get_num_devices() == 0);
    EXPECT(rows.region(&host::add_one) != 0);
    rows.end();
    EXPECT(values[0] == 1);
    // Program registered in the child, which has a device again, with threads.
    Program program({image_file("main")}, main_entries());
    EXPECT(omp_get_num_devices() == 1);
    EXPECT(rows.region(&host::add_one) == 0);
    EXPECT(values[0] == 2);
    EXPECT(teams.teams(&host::team_square, 8, 8) == 0);
    EXPECT(marks[63] == 2);
    ::_exit(0); // LeakSanitizer would find what the parent's threads, which are not here, hold
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT(rows.region(&host::add_one) == 0);
  rows.end();
  EXPECT(values[0] == 2);
  return 0;
}

TEST_CASE("a forked child runs on the host until it registers anew") {
  const Outcome outcome = run_scenario("fork_and_launch");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region add_one runs on the host: the process has forked since it registered its images\n"));
}

SCENARIO_OF(fork_and_free) {
  use_main();
  const int initial = omp_get_initial_device();
  void* const small = omp_target_alloc(8, 0);
  void* const large = omp_target_alloc(1 << 20, 0);
  void* const hosts = omp_target_alloc(8, initial);
  const pid_t child = ::fork();
  if (child == 0) {
    for (void* memory : {small, large})
      omp_target_free(memory, 0); // as destructors do when it exits
    omp_target_free(hosts, initial);
    void* const own = omp_target_alloc(8, omp_get_initial_device());
    EXPECT(own);
    omp_target_free(own, omp_get_initial_device());
    omp_target_free(omp_target_alloc(8, 0), 0);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (void* memory : {small, large})
    omp_target_free(memory, 0);
  omp_target_free(hosts, initial);
  return 0;
}

TEST_CASE("a forked child may free memory that its parent had from a device") {
  const Outcome outcome = run_scenario("fork_and_free");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(fork_while_allocating) {
  use_main();
  omp_target_free(omp_target_alloc(8, 0), 0); // opens the plugin: a child cannot, if another thread was about to
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      std::vector<void*> memory(600); // more than a thread keeps for itself
      while (!stop) {
        for (void*& one : memory)
          one = omp_target_alloc(8, 0);
        for (void* one : memory)
          omp_target_free(one, 0);
      }
    });
  bool fine = true;
  for (int i = 0; i < 40 && fine; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      end_after(10);
      Program program({image_file("main")}, main_entries());
      int number = 0;
      ::_exit(Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) == 0 && number == 1 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  stop = true;
  for (std::thread& thread : threads)
    thread.join();
  EXPECT(fine);
  return 0;
}

TEST_CASE("a child forked while other threads allocate has a device that allocates") {
  const Outcome outcome = run_scenario("fork_while_allocating");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(fail_late) {
  use_main();
  constexpr std::size_t kTooMuch = std::size_t{1} << 46; // bytes; no machine has them
  EXPECT(omp_target_alloc(kTooMuch, 0) == nullptr);
  std::atexit([] { // the thread's variables are gone
    if (omp_target_alloc(kTooMuch, 0) != nullptr)
      ::_exit(9);
    Program program({image_file("main"), std::vector<char>(64, 'x')}, main_entries());
    if (Rows{}.region(&host::nothing) != 0)
      ::_exit(8);
  });
  return 0;
}

TEST_CASE("a device may fail when the program ends as it did before") {
  const Outcome outcome = run_scenario("fail_late");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(count_through_libomp) {
  use_main();
  EXPECT(omp_get_num_devices() == 1); // the library's that was preloaded
  EXPECT(omp_get_initial_device() == 1);
  return 0;
}

TEST_CASE("a libomp whose routines come first in the search order gets answers") {
  const Outcome outcome = run_scenario("count_through_libomp", {"LD_PRELOAD=" TEST_FOLDER "/library_asking.so"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(fork_while_launching) {
  use_main();
  int first = 0; // loads the image: ThreadSanitizer's dlopen has a lock that a child may find held
  EXPECT(Rows({row(first, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        int number = 0;
        Rows{row(number, TOFROM | REF), value(1)}.region(&host::add_one);
      }
    });
  bool fine = true;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int number = 0;
      ::_exit(Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    fine = fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  stop = true;
  for (std::thread& thread : threads)
    thread.join();
  EXPECT(fine);
  return 0;
}

TEST_CASE("a child forked while other threads launch does not hang") {
  const Outcome outcome = run_scenario("fork_while_launching");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(late_calls) {
  static int values[2] = {1, 2};
  static Rows rows{row(values, TOFROM | REF), value(2)};
  std::atexit([] {
    // After every library is gone.
    if (rows.region(&host::add_one) == 0 || values[0] != 2)
      ::_exit(9);
    rows.begin();
    rows.end();
    rows.update();
    if (omp_target_is_present(values, 0) != 0 || rows.region(&host::add_one, -3) != 0)
      ::_exit(8);
    void* memory = omp_target_alloc(8, 0); // the device is still there
    omp_target_free(memory, 0);
  });
  {
    Program program({image_file("main")}, main_entries());
    EXPECT(rows.region(&host::add_one) == 0);
    __tgt_unregister_lib(&program.descriptor); // and once more when it goes
  }
  return 0;
}

TEST_CASE("calls after unregistering are safe and say that nothing ran") {
  const Outcome outcome = run_scenario("late_calls");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("runs on the host: no registered library lists it"));
}

SCENARIO_OF(region_then_exit) {
  use_main();
  const bool ran = llvm_abi::launch(&host::nothing, {}) == 0;
  llvm_abi::launch(&host::absent, {}); // says why not
  ::_exit(!ran);                       // LeakSanitizer cannot look into a setuid program
}

// Returns the path of a setgid copy of this program, or "" if it cannot be made.
static std::string setgid_program() {
  if (::geteuid() != 0) {
    MESSAGE("not tested: only root can make such a program");
    return {};
  }
  const std::string program = TEST_FOLDER "/setuid_tests-" + std::to_string(::getpid());
  const std::vector<char> bytes = read_file("/proc/self/exe");
  std::ofstream(program, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  // Group of the copy: another group, not another user, who could not even read files below root's home.
  constexpr gid_t kNoGroup = 65534;
  REQUIRE(::chown(program.c_str(), 0, kNoGroup) == 0);
  REQUIRE(::chmod(program.c_str(), 02755) == 0);
  return program;
}

TEST_CASE("a setuid or setgid program ignores every OMPTOOL_ variable") {
  const std::string kSays = "omptarget: region absent runs on the host: the image for device 0 (host) lacks it\n";
  const std::string program = setgid_program();
  if (program.empty())
    return;
  const std::string kept = TEST_FOLDER "/setuid_kept-" + std::to_string(::getpid());
  ::mkdir(kept.c_str(), 0700);
  // All variables that change output or behaviour where they are read.
  const std::vector<std::string> all{"OMPTOOL_PLUGINS=nosuch",
                                     "OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail",
                                     "FAKEFAIL_AT=1",
                                     "FAKEFAIL_ON=1",
                                     "OMPTOOL_QUIET=1",
                                     "OMPTOOL_MANDATORY=1",
                                     "LIBOMPTARGET_TREAT_ATTACH_AUTO_AS_ALWAYS=1",
                                     "OMPTOOL_DEVICE_POLICY=none",
                                     "OMPTOOL_HOST_DEVICES=0",
                                     "OMPTOOL_HOST_MEMORY=none",
                                     "OMPTOOL_HOST_QUEUES=maybe",
                                     "OMPTOOL_HOST_IN_FLIGHT=none",
                                     "OMPTOOL_KERNEL_TIMEOUT=none",
                                     "LIBOMPTARGET_INFO=-1",
                                     "OMPTOOL_REPORT=" + kept + "/nosuch",
                                     "OMPTOOL_CHECK=" + kept + "/nosuch",
                                     "OMPTOOL_SUMMARY=none",
                                     "OMPTOOL_SUMMARY_JSON=" + kept + "/nosuch",
                                     "OMPTOOL_TRACE=" + kept + "/no/such",
                                     "OMPTOOL_TRACE_FORMAT=none",
                                     "OMPTOOL_TRACE_LIMIT=none",
                                     "LIBOMPTARGET_PROFILE=" + kept + "/no/such",
                                     "LIBOMPTARGET_PROFILE_GRANULARITY=none",
                                     "OMPTOOL_KEEP_IMAGES=" + kept};
  // Changes nothing in this test: a region without pointers runs as before, and summaries are written after the
  // program's end, which _exit skips.
  const auto changes_nothing_here = [](const std::string& one) {
    return one.starts_with("FAKE") || one.starts_with("LIBOMPTARGET_TREAT_") || one.starts_with("OMPTOOL_SUMMARY_JSON");
  };
  for (const std::string& one : all)
    if (!changes_nothing_here(one)) {
      const bool heeded = run_scenario("region_then_exit", {one, all[2], all[3]}).output != kSays;
      CHECK_MESSAGE((heeded || !std::filesystem::is_empty(kept)), one);
    }
  for (const auto& left : std::filesystem::directory_iterator(kept)) // of the run that heeds it
    std::filesystem::remove(left);
  const Outcome outcome = run_scenario("region_then_exit", all, program);
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == kSays);
  CHECK(::rmdir(kept.c_str()) == 0); // empty
  ::unlink(program.c_str());
}

SCENARIO_OF(region_with_observers) {
  use_main();
  const bool ran = llvm_abi::launch(&host::nothing, {}) == 0;
  std::ifstream maps("/proc/self/maps"); // whose size the system does not say
  const std::string files(std::istreambuf_iterator<char>(maps), {});
  const bool is_open = files.find("/libomptool_observe.so") != std::string::npos;
  ::_exit(!ran ? 1 : is_open ? 2 : 0); // LeakSanitizer cannot look into a setuid program
}

TEST_CASE("a setuid or setgid program never opens the library of observers") {
  const std::vector<std::string> timeout{"OMPTOOL_KERNEL_TIMEOUT=60"}, profile{"LIBOMPTARGET_PROFILE=/dev/null"};
  CHECK(run_scenario("region_with_observers", {}).code == 0);
  CHECK(run_scenario("region_with_observers", timeout).code == 2);
  CHECK(run_scenario("region_with_observers", profile).code == 2);
  if (const std::string program = setgid_program(); !program.empty()) {
    CHECK(run_scenario("region_with_observers", timeout, program).code == 0);
    CHECK(run_scenario("region_with_observers", profile, program).code == 0);
    ::unlink(program.c_str());
  }
}

SCENARIO_OF(compile_then_exit) {
  const std::vector<std::byte> module = module_for(omptool::machine::kTriple);
  const auto* const begin = reinterpret_cast<const char*>(module.data());
  Program program({{begin, begin + module.size()}}, main_entries());
  int number = 1;
  const bool ran = Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) == 0;
  ::_exit(ran && number == 2 ? 0 : 1);
}

// FAKE: the omptool of this test gives an image that is there already.
TEST_CASE("a setuid or setgid program has no bitcode compiled, and its OMPTOOL_CACHE_DIR stays as it is") {
  const std::string folder = TEST_FOLDER "/setuid_compiles-" + std::to_string(::getpid()), cache = folder + "/cache",
                    helper = folder + "/omptool";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::ofstream(helper) << "#!/bin/sh\ncp " TEST_FOLDER "/image_main.so \"$5\"\n";
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  const std::vector<std::string> own{"OMPTOOL_CACHE_DIR=" + cache, "PATH=" + folder + ":/usr/bin:/bin"};
  const Outcome usual = run_scenario("compile_then_exit", own);
  CHECK_MESSAGE(usual.code == 0, usual.output);
  CHECK(!std::filesystem::is_empty(cache));
  std::filesystem::remove_all(cache);
  if (const std::string program = setgid_program(); !program.empty()) {
    const Outcome outcome = run_scenario("compile_then_exit", own, program);
    CHECK(outcome.code == 1);
    CHECK(outcome.has("host (a program that runs with raised privileges compiles no images)"));
    CHECK(!std::filesystem::exists(cache));
    ::unlink(program.c_str());
  }
  std::filesystem::remove_all(folder);
}

static pid_t forked_in_kernel;
SCENARIO_OF(fork_in_kernel) {
  use_main();
  int own[4] = {1}, others[4] = {};
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done)
      Rows({row(others, TOFROM | REF), value(4)}).region(&host::add_one);
  });
  const auto fork_here = +[] {
    forked_in_kernel = ::fork();
    if (forked_in_kernel == 0)
      ::_exit(7);
  };
  const bool ran =
      Rows({row(own, TOFROM | REF), value(reinterpret_cast<std::uintptr_t>(fork_here))}).region(&host::call_host) == 0;
  done = true;
  other.join();
  int status = 0;
  EXPECT(ran && own[0] == 2);
  EXPECT(::waitpid(forked_in_kernel, &status, 0) == forked_in_kernel);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  return 0;
}

TEST_CASE("a kernel may fork a child that leaves by _exit (decision 31)") {
  const Outcome outcome = run_scenario("fork_in_kernel");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

#ifndef SANITIZED // whose own handlers come first
[[gnu::noinline]] static int use_up_stack(int depth) {
  volatile char kept[4096];
  kept[0] = static_cast<char>(depth);
  const int below = depth < 0 ? 0 : use_up_stack(depth + 1);
  return below + kept[0];
}

static void overflow() {
  std::printf("%d\n", use_up_stack(0));
}

static int overflow_in_kernel() {
  use_main();
  int own = 1;
  Rows({row(own, TOFROM | REF), value(reinterpret_cast<std::uintptr_t>(&overflow))}).region(&host::call_host);
  return 1;
}

SCENARIO_OF(overflow_here) {
  return overflow_in_kernel();
}

SCENARIO_OF(overflow_in_a_thread) {
  std::thread([] { overflow_in_kernel(); }).join();
  return 1;
}

TEST_CASE("a kernel that uses up its stack is named") {
  for (const char* const name : {"overflow_here", "overflow_in_a_thread"}) {
    const Outcome outcome = run_scenario(name);
    CHECK(outcome.signal == SIGSEGV);
    CHECK_MESSAGE(outcome.has("omptarget: kernel call_host ends by SIGSEGV at 0x"), outcome.output);
  }
}

static char own_stack[1 << 16];
SCENARIO_OF(keeps_own_stack) {
  use_main();
  const stack_t own{own_stack, 0, sizeof own_stack};
  EXPECT(::sigaltstack(&own, nullptr) == 0);
  int value_of[1] = {1};
  EXPECT(Rows({row(value_of, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
  stack_t now{};
  EXPECT(::sigaltstack(nullptr, &now) == 0 && now.ss_sp == own_stack);
  return 0;
}

TEST_CASE("a thread keeps the signal stack that the program has given it") {
  const Outcome outcome = run_scenario("keeps_own_stack");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}
#endif
