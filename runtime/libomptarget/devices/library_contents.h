// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contents of a registered executable or shared library, in the core's terms. Each ABI converts its descriptor to this
// form; the core sees no records of an ABI.
#pragma once

#include "bytes.h"
#include "counted.h"
#include "host_range.h"
#include "omptarget_rtl.h"
#include "rtl/passing.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace omptool {

class Rtl;

enum class EntryKind {
  kKernel,
  kGlobal,
  kConstructor, // a function without arguments that runs when the image has been loaded
  kDestructor,  // and one that runs before it is unloaded
  kOwnPointer,  // a pointer variable that host and device set each for itself
  kHostPointer, // a pointer variable of the device that gets the host's value
  kIndirect,    // a pointer variable of the device that holds the address of the host entry's counterpart
};

struct HostEntry {
  void* address;
  const char* name; // null: none
  std::int64_t size;
  EntryKind kind;
  // `size` is the pointer's. Of kIndirect: bytes at `address`. Of kHostPointer: what is known to be the variable that
  // it leads to; 0: constructs map that.
  std::int64_t extent;
};

inline const char* name_of(const HostEntry& entry) {
  return entry.name ? entry.name : "(unnamed)";
}
inline bool is_variable(const HostEntry& entry) {
  return entry.address && entry.size > 0;
}

// Returns what the entry itself stands for.
inline HostRange memory_of(const HostEntry& entry) {
  return HostRange::of(entry.address, entry.kind == EntryKind::kIndirect ? entry.extent : entry.size);
}
// Returns what is known to be the variable that devices reach by a kHostPointer; nothing for others.
inline HostRange variable_behind(const HostEntry& entry) {
  const bool leads = entry.kind == EntryKind::kHostPointer && is_variable(entry) && entry.extent > 0;
  void* const variable = leads ? *static_cast<void**>(entry.address) : nullptr;
  return variable ? HostRange::of(variable, entry.extent) : HostRange{};
}

// The host's entry table, copied: the library may be unloaded while a plugin still looks at it.
struct EntryTable {
  std::vector<HostEntry> entries;
  std::vector<__tgt_offload_entry> records; // the same, in the plugins' form
  std::deque<std::string> names;            // of both; a deque's elements stay where they are
  std::vector<HostRange> globals;           // memory of the variables, and memory that devices access through them
  void add(HostEntry entry) {
    if (entry.name)
      entry.name = names.emplace_back(entry.name).data();
    entries.push_back(entry);
    records.push_back({entry.address, const_cast<char*>(entry.name), entry.size});
    if (is_variable(entry))
      globals.push_back(memory_of(entry));
    if (const HostRange variable = variable_behind(entry); variable.size() > 0)
      globals.push_back(variable);
  }
  // Adds one record of the documents' ABI.
  void add(const __tgt_offload_entry& record) {
    add({record.addr, record.name, record.size, record.size == 0 ? EntryKind::kKernel : EntryKind::kGlobal,
         record.size});
  }
};

// Origin of an image: its compilers, as far as they are known.
struct ImageOrigin {
  KernelForm form = KernelForm::kAsCalled;
  bool is_old = false;  // see passings_of()
  std::string compiler; // the newest one, with its version; "": unknown
  // Since LLVM 20: LLVM's runtime for programs with these entries prints teams and threads in three dimensions.
  bool is_since_20 = false;
};

struct RegisteredImage {
  void* begin;
  void* end;
  ImageOrigin origin = {};
  std::vector<Rtl*> rtls = {}; // that accept it, in the order in which they are asked
  std::string refusals = {};   // of the plugins, where none accepts it
  Bytes bytes() const { return {static_cast<const std::byte*>(begin), static_cast<const std::byte*>(end)}; }
};

struct LibraryContents {
  EntryTable table;
  std::vector<RegisteredImage> images;
  bool globals_required = false; // an image that lacks a global cannot be used
  bool host_memory = false;      // the library asks for devices that use host addresses
  const char* remark = nullptr;  // a warning for the user
  // Explains the fault: appends which file caused it, found by an address in the library. Null: the fault is complete.
  // Called without a lock.
  std::string (*explain)(const std::string& fault, const void* address) = nullptr;

  // Returns the image as a record for plugins.
  __tgt_device_image raw(const RegisteredImage& image) const {
    auto* const first = const_cast<__tgt_offload_entry*>(table.records.data());
    return {image.begin, image.end, first, first + table.records.size()};
  }
};

// Reads a registered descriptor. Returns why it cannot be used, or "".
using LibraryReader = std::string (*)(const void* descriptor, LibraryContents& contents);

// Most images of a library. A higher number shows a damaged descriptor.
constexpr std::uint32_t kMostImages = 1U << 16;

// Adds the images in a descriptor's list. Returns why the list is damaged, or "".
template <typename Image>
std::string read_images(std::int64_t count, const Image* list, std::vector<RegisteredImage>& images) {
  if (count < 0 || count > std::int64_t{kMostImages})
    return "it counts " + counted(count, "image") + "; " + std::to_string(kMostImages) + " are the most";
  if (count > 0 && !list)
    return "it counts " + counted(count, "image") + ", but has no list of them";
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_range(static_cast<std::byte*>(list[i].ImageStart), static_cast<std::byte*>(list[i].ImageEnd)))
      return "image " + std::to_string(i) + " ends before it begins";
    images.push_back({list[i].ImageStart, list[i].ImageEnd});
  }
  return {};
}

} // namespace omptool
