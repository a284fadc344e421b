// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hosts written from the interface's document alone name no version and get LLVM's registration: decision 27.
#include "llvm_calls.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>

using namespace llvm_abi;

namespace {

// Returns the result of the region of a host with that many entries.
int run_document(int count) {
  static std::vector<char> image = image_file("main");
  void* const library = ::dlopen(TEST_FOLDER "/library_document.so", RTLD_NOW);
  auto* const run = reinterpret_cast<int (*)(void*, void*, int)>(library ? ::dlsym(library, "document_run") : nullptr);
  return run ? run(image.data(), image.data() + image.size(), count) : -99;
}

// Forbids process_vm_readv(), as a container may.
bool forbid_process_vm_readv() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{4, filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

const std::string kRemark = "registers entries of 24 bytes, as omptarget.h declares them, by a function without a "
                            "symbol version: include omptarget.h, which names the version\n";

} // namespace

SCENARIO_OF(document_host) {
  return run_document(std::atoi(std::getenv("TEST_COUNT")));
}

SCENARIO_OF(document_host_forbidden) {
  EXPECT(forbid_process_vm_readv());
  return run_document(std::atoi(std::getenv("TEST_COUNT"))) == -1 ? 0 : 1;
}

TEST_CASE("a host that names no version runs, whatever its table's length, and is told of omptarget.h once") {
  for (const int count : {1, 2, 3, 4, 7, 8, 12, 16, 24, 28}) {
    const Outcome outcome = run_scenario("document_host", {"TEST_COUNT=" + std::to_string(count)});
    CAPTURE(count);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output.find("omptarget: " TEST_FOLDER "/library_document.so registers ") == 0);
    CHECK(outcome.output.find(kRemark) == outcome.output.size() - kRemark.size());
    CHECK(outcome.output.find('\n') == outcome.output.size() - 1);
  }
}

TEST_CASE("where nobody may look at memory, such a host is refused in a line, and LLVM's are not") {
  for (const char* count : {"TEST_COUNT=1", "TEST_COUNT=4", "TEST_COUNT=28"}) {
    const Outcome outcome = run_scenario("document_host_forbidden", {count});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.has(": its entries may be LLVM's or omptarget.h's: to tell them apart needs process_vm_readv, which "
                      "is forbidden\n"));
  }
  const Outcome outcome = run_scenario("llvm_host_forbidden", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

template <typename Record> static int run_llvm_host() {
  const Library<Record> library(image_file("main"), main_entries());
  int values[2] = {1, 2};
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(2)}) == 0);
  EXPECT(values[0] == 2);
  return 0;
}

SCENARIO_OF(llvm_host_forbidden) {
  EXPECT(forbid_process_vm_readv());
  return run_llvm_host<Record32>() + run_llvm_host<Record56>();
}

// Names that lead nowhere, have no end, or are none: of 4 records of one size and 3 of the other.
SCENARIO_OF(nobodys_entries) {
  static char endless[3 * 4096];
  std::fill(std::begin(endless), std::end(endless), 'x');
  for (char* const name : {endless, reinterpret_cast<char*>(std::uintptr_t{64}), static_cast<char*>(nullptr)}) {
    void* words[12];
    std::fill(std::begin(words), std::end(words), name);
    struct {
      std::int32_t images;
      __tgt_device_image* image;
      void *first, *last;
    } descriptor{0, nullptr, words, words + 12};
    register_library(&descriptor);
    EXPECT(omp_get_num_devices() == 0);
    unregister_library(&descriptor);
  }
  return 0;
}

TEST_CASE("entries that are nobody's are refused in a line") {
  const Outcome outcome = run_scenario("nobodys_entries");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK_MESSAGE(outcome.has(": its entries are neither LLVM's nor those of omptarget.h\nomptarget: repeated 2 times: "),
                outcome.output);
}
