// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The proposal of 2013 (offload-infrastructure-proposal.txt): its plugins, those of libtarget_rtl.h (section 5), behind
// the functions that the core calls, and the records that programs and plugins share.
#pragma once

#include "rtl/rtl.h"

namespace omptool::proposal {

// Entry of the descriptor that programs of libtarget.so register (section 4): entries have no names, and images no
// table.
struct Entry {
  void* address;
  int size; // bytes of a global variable; 0: a kernel
};

struct Image {
  void* ImageStart;
  void* ImageEnd;
};

struct Descriptor {
  unsigned image_count;
  const Image* images;
  const Entry* entries_begin;
  const Entry* entries_end;
};

static_assert(sizeof(Entry) == 16 && sizeof(Image) == 16 && sizeof(Descriptor) == 32);

// Returns whether a library has what only section 5 requires, and not what only the later interface does.
bool is_plugin(void* handle);

// Fills in functions that call such a plugin. Returns why it cannot be used, or "".
std::string adapt(void* handle, RtlFunctions& functions);

} // namespace omptool::proposal
