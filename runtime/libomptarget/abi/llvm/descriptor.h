// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what clang's linker wrapper registers: entry records of 32 bytes (until LLVM 19) or 56 (since 20), and images
// as they are or in OffloadBinaries (LLVM 15 to 17).
#pragma once

#include "devices/library_contents.h"

namespace omptool::llvm {

// Bytes of each record in a table of entries: 32 or 56; 0 when the table fits neither.
std::size_t record_size(Bytes table);

// Appends the images inside an OffloadBinary, version 1 (one image) or 2 (any number); `bytes` itself when it is none.
// Returns what is wrong with it, or "". `is_newer`: its version is not known, and nothing else is read.
std::string unwrap(Bytes bytes, std::vector<Bytes>& images, bool& is_newer);

// A LibraryReader; `descriptor` is a __tgt_bin_desc whose entries are LLVM's.
std::string read_library(const void* descriptor, LibraryContents& contents);

// Requires the features in `mask` for one more translation unit. Clang 14 to 18 call this before registration, from
// `where`. Ends the program if another unit has other requirements.
void require(std::int64_t mask, const void* where);
// Applies the requirements of a library that registers: since 19 they are in its entries.
void require_entries_of(const void* descriptor);

} // namespace omptool::llvm
