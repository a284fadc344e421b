// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each image finds its own virtual tables in place of the host's. This program and the C library are the images here.
#include "worker/host_tables.h"

#include <cstdio>
#include <doctest/doctest.h>

using namespace omptool::worker;

namespace {

int own;
const void* const libcs = stdout;

} // namespace

TEST_CASE("an image finds its own virtual tables by the host's addresses") {
  const int on_stack = 0;
  CHECK((is_in_image(&own) && is_in_image(libcs) && !is_in_image(&on_stack)));
  CHECK(own_address(0x1010, &own) == 0x1010);
  add_tables(&own, {{0x2000, 0x20, 0x9000, "second"}, {0x1000, 0x20, 0x8000, "first"}});
  add_tables(libcs, {{0x1000, 0x20, 0x7000, "first"}});
  CHECK(own_address(0x1010, &own) == 0x8010);
  CHECK(own_address(0x201f, &own) == 0x901f);
  CHECK(own_address(0x1000, libcs) == 0x7000);
  for (const std::uintptr_t other : {0xfffU, 0x1020U, 0x2020U})
    CHECK(own_address(other, &own) == other);
  CHECK(own_address(0x2000, libcs) == 0x2000);
  remove_tables(&own);
  CHECK(own_address(0x1010, &own) == 0x1010);
  CHECK(own_address(0x1010, libcs) == 0x7010);
  remove_tables(libcs);
  CHECK(own_address(0x1010, libcs) == 0x1010);
}
