// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads an image's bytes before the dynamic linker sees them. The bytes may be anything: every offset and count is
// checked against their bounds.
#pragma once

#include "bytes.h"

#include <cstdint>
#include <optional>

namespace omptool::host {

// Returns null for a complete ELF64 shared object for this machine, else what is wrong with it. The dynamic linker
// trusts what it reads, and ends the process where that was lost. Reads the headers and the dynamic section only.
const char* fault_of(Bytes image);

// Table location: address of the image's own entry table, relative to the image's load address.
struct TableLocation {
  std::uint64_t address;
  std::uint64_t size;
  std::uint64_t record; // bytes of each entry, which begins as __tgt_offload_entry does or is nameless
};
// Nameless record of libtarget.h: an address, and an int with the size.
constexpr std::uint64_t kNamelessRecord = 16;
std::optional<TableLocation> entry_table(Bytes image);

// Returns how many bytes can be read at an address relative to the load address: up to the end of its segment, or 0
// outside of all segments.
std::uint64_t readable_from(Bytes image, std::uint64_t address);

// Dynamic entry to be written at `offset`, by which the image's references resolve to its own definitions first. The
// linkers of clang 14 and 16 omit it; then the program's definition of a name comes first, and a kernel would use a
// host variable. Nothing: the entry exists, or there is no space for it.
struct DynamicEntry {
  std::uint64_t offset;
  std::int64_t tag;
  std::uint64_t value;
};
std::optional<DynamicEntry> own_definitions_first(Bytes image);

} // namespace omptool::host
