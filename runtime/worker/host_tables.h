// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the host's virtual tables to those of the images on CPUs of this process. An object that the host made points to
// a table of the host. Code of clang 23 and later asks for the image's own table before each virtual call. Earlier code
// reads at the host's address: if that faults, a message explains it.
//
// Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace omptool::worker {

struct HostTable {
  std::uintptr_t host; // its address there
  std::uintptr_t size;
  std::uintptr_t own; // the address of the image's
  std::string name;
};

// Returns whether the address is in an image or a library of this process.
bool is_in_image(const void* address);
// Adds the tables for calls of the image that contains the address `entry`, until remove_tables(entry).
void add_tables(const void* entry, const std::vector<HostTable>& tables);
void remove_tables(const void* entry);
// Returns the address in the image's own table that corresponds to an address in the host's, else the address itself.
// `caller`: an address in the image's code.
std::uintptr_t own_address(std::uintptr_t address, const void* caller);

} // namespace omptool::worker
