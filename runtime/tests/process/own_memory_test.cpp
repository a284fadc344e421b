// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/own_memory.h"

#include <cstring>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

using omptool::string_at;
using omptool::StringAt;

TEST_CASE("a string is there if it can be read up to its end, and that is not too far") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const pages =
      static_cast<char*>(::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  std::memset(pages, 'x', 2 * page);
  REQUIRE(::mprotect(pages + 2 * page, page, PROT_NONE) == 0);
  const auto there = [&](const char* at) { return string_at(at, page) == StringAt::kThere; };
  CHECK(!there(pages));
  CHECK(!there(pages + 2 * page - 3)); // runs into what cannot be read
  CHECK(!there(pages + 2 * page));
  CHECK(!there(nullptr));
  CHECK(!there(reinterpret_cast<const char*>(~std::uintptr_t{0})));
  pages[page + 4] = '\0';
  CHECK(there(pages + page + 4)); // empty
  CHECK(there(pages + page - 5)); // over the end of a page
  CHECK(there(pages + 5));        // of a page less one byte
  CHECK(!there(pages + 4));
  CHECK(there("a constant"));
  ::munmap(pages, 3 * page);
}
