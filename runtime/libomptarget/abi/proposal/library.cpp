// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/proposal/library.h"

#include "rtl/proposal_descriptor.h"

namespace omptool::proposal {
namespace {

// Returns why the descriptor cannot be used, or "".
std::string fault_of(const Descriptor& descriptor) {
  if (!is_range(descriptor.entries_begin, descriptor.entries_end))
    return "its entry table does not end where an entry ends";
  for (const Entry* entry = descriptor.entries_begin; entry != descriptor.entries_end; ++entry)
    if (entry->size < 0)
      return "the size of entry " + std::to_string(entry - descriptor.entries_begin) + " is " +
             std::to_string(entry->size);
  if (std::string fault = fault_of_images(descriptor.image_count, descriptor.images); !fault.empty())
    return fault;
  for (unsigned i = 0; i < descriptor.image_count; ++i)
    if (const Image& image = descriptor.images[i];
        !is_range(static_cast<const char*>(image.begin), static_cast<const char*>(image.end)))
      return fault_of_bounds(i);
  return {};
}

} // namespace

std::string read_library(const void* address, LibraryContents& contents) {
  const Descriptor& descriptor = *static_cast<const Descriptor*>(address);
  if (std::string fault = fault_of(descriptor); !fault.empty())
    return fault;
  for (const Entry* entry = descriptor.entries_begin; entry != descriptor.entries_end; ++entry) {
    EntryTable& table = contents.table;
    const EntryKind kind = entry->size == 0 ? EntryKind::kKernel : EntryKind::kGlobal;
    table.add({entry->address, nullptr, entry->size, kind, entry->size});
    const std::string place = "entry " + std::to_string(entry - descriptor.entries_begin);
    table.entries.back().name = table.names.emplace_back(place).data();
  }
  for (unsigned i = 0; i < descriptor.image_count; ++i)
    contents.images.push_back({descriptor.images[i].begin, descriptor.images[i].end});
  return {};
}

} // namespace omptool::proposal
