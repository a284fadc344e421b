// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads that each store, pass a barrier and load: one of them sees the other's store, even when the
// program forbids membarrier(2) in between.
#include "threads/barriers.h"

#include <cerrno>
#include <cstddef>
#include <doctest/doctest.h>
#include <functional>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace omptool;

namespace {

// Forbids membarrier(2) for all threads of the process, as a sandbox does.
bool forbid_membarrier() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

// Rounds in which neither saw the other.
int both_missed(int rounds, const std::function<void(int)>& before) {
  std::atomic<int> round{0}, done{0}, x{0}, y{0};
  int seen = 0, missed = 0;
  std::thread common([&] {
    for (int i = 1; i <= rounds; ++i) {
      for (int turns = 0; round.load(std::memory_order_acquire) < i; ++turns)
        if (turns > 10'000) // where the other thread waits for this core
          std::this_thread::yield();
      x.store(i, std::memory_order_relaxed);
      light_barrier();
      seen = y.load(std::memory_order_relaxed);
      done.store(i, std::memory_order_release);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    before(i);
    round.store(i, std::memory_order_release);
    y.store(i, std::memory_order_relaxed);
    heavy_barrier();
    const bool saw = x.load(std::memory_order_relaxed) == i;
    while (done.load(std::memory_order_acquire) < i)
      std::this_thread::yield();
    missed += !saw && seen != i;
  }
  common.join();
  return missed;
}

// In a child, so that nothing that is forbidden there stays so.
int in_child(int (*body)()) {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("one of two threads sees the other") {
  CHECK(in_child([] {
          const int ordinary = both_missed(2000, [](int) {});
          request_barriers();
          return ordinary + both_missed(2000, [](int) {});
        }) == 0);
}

TEST_CASE("one of two threads sees the other while membarrier(2) is forbidden") {
  CHECK(in_child([] {
          request_barriers();
          const bool on_request = barriers == Barriers::kOnRequest;
          bool forbidden = true;
          const int missed = both_missed(2000, [&](int round) {
            if (round == 1000)
              forbidden = forbid_membarrier();
          });
          if (!forbidden)
            return 10;
          return missed == 0 && (!on_request || barriers == Barriers::kOrdinary) ? 0 : 1;
        }) == 0);
}
