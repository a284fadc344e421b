// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Another thread's region falls back while a region copies its data, after it has found its objects and before its
// kernel. Nobody has written the memory that both use, and each writes an element of its own.
#include "support.h"

#include <atomic>
#include <csignal>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

// Memory whose first reader is held up.
class SlowPage {
public:
  SlowPage() : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    page_ = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page_ != MAP_FAILED);
    the_one = this;
    struct sigaction held{};
    held.sa_sigaction = [](int, siginfo_t*, void*) { the_one->hold(); };
    held.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &held, &before_);
  }
  ~SlowPage() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    ::munmap(page_, size_);
  }
  SlowPage(const SlowPage&) = delete;
  SlowPage& operator=(const SlowPage&) = delete;

  long& item() const { return *static_cast<long*>(page_); }
  void wait_for_reader() const {
    while (!is_read_)
      std::this_thread::yield();
  }
  void let_go() { may_go_on_ = true; }

private:
  void hold() {
    is_read_ = true;
    while (!may_go_on_)
      ;
    ::mprotect(page_, size_, PROT_READ);
  }

  static inline SlowPage* the_one = nullptr;
  const std::size_t size_;
  void* page_ = nullptr;
  struct sigaction before_{};
  std::atomic<bool> is_read_{false}, may_go_on_{false};
};

} // namespace

TEST_CASE("a region that copies while another falls back keeps what its kernel writes") {
  use_main();
  long values[2] = {1, 2};
  Rows data{row(values, FROM | REF)};
  data.begin();
  SlowPage page;
  bool ran = false;
  std::thread region([&] {
    ran =
        Rows({row(values, FROM | REF), value(0), value(7), row(page.item(), TO | REF)}).region(&host::times_plus) == 0;
  });
  page.wait_for_reader();
  std::thread([&] {
    CHECK(Rows({row(values, FROM | REF)}).region(&host::absent) != 0);
    values[1] = 20;
  }).join();
  page.let_go();
  region.join();
  CHECK(ran);
  data.end();
  CHECK(values[0] == 7);
  CHECK(values[1] == 20);
}
