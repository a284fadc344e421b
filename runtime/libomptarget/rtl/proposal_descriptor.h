// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The descriptor that programs of libtarget.so register (offload-infrastructure-proposal.txt, section 4): entries
// without names, and images without a table.
#pragma once

namespace omptool::proposal {

struct Entry {
  void* address;
  int size; // bytes of a global variable; 0: a kernel
};

struct Image {
  void* begin;
  void* end;
};

struct Descriptor {
  unsigned image_count;
  const Image* images;
  const Entry* entries_begin;
  const Entry* entries_end;
};

static_assert(sizeof(Entry) == 16 && sizeof(Image) == 16 && sizeof(Descriptor) == 32);

} // namespace omptool::proposal
