// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists what is mapped, for LIBOMPTARGET_INFO and ompx_dump_mapping_tables().
#pragma once

#include <string>

namespace omptool::llvm {

// The tables of every device after the construct at `place`, line by line.
std::string describe_tables(const std::string& place);
void tell_tables(const std::string& place);

} // namespace omptool::llvm
