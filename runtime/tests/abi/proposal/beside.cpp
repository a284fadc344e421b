// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of calls_test.cpp that is written for omptarget.h.
#include "support.h"

int map_beside(int* values, int count) {
  Rows({{values, values, count * static_cast<std::int64_t>(sizeof *values), TOFROM | REF}}).begin();
  return 0;
}
int unmap_beside(int* values, int count) {
  Rows({{values, values, count * static_cast<std::int64_t>(sizeof *values), TOFROM | REF}}).end();
  return 0;
}
int run_beside(int* values, int count) {
  use_main();
  Rows rows{{values, values, count * static_cast<std::int64_t>(sizeof *values), TOFROM | REF},
            value(static_cast<std::uintptr_t>(count))};
  return rows.region(&host::add_ten);
}
