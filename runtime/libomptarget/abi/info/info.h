// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the lines of LIBOMPTARGET_INFO for programs of every ABI, in the words of LLVM's runtime (abi-facts.md, 10.1
// and 10.2).
#pragma once

#include "host_range.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omptool::info {

enum Info : std::uint32_t {
  kInfoArguments = 0x1, // arguments of a construct
  kInfoFound = 0x2,     // objects that were there
  kInfoTable = 0x4,     // the table after a construct and at the end
  kInfoChanged = 0x8,   // objects created and removed
  kInfoLaunches = 0x10, // kernels
  kInfoCopies = 0x20,   // copies
  kInfoNowhere = 0x40,  // addresses without a counterpart on the device
};

inline std::atomic<std::uint32_t> info_bits{0};

inline bool informs(std::uint32_t any) {
  return info_bits.load(std::memory_order_relaxed) & any;
}
// Takes LIBOMPTARGET_INFO over, once; __tgt_set_info_flag may have been first.
void read_info();
void set_info(std::uint32_t bits);

// Informs about a device, in one line.
void inform(int device, const std::string& text);

// Formats an address: "0x" and 16 digits.
std::string hex(std::uintptr_t address);
inline std::string hex(const void* address) {
  return hex(reinterpret_cast<std::uintptr_t>(address));
}

// Place in the source, from clang's text: ";file;function;line;column;;" of a construct, ";variable;file;line;column;;"
// of a mapped variable. Without -g the text is missing, or has "unknown" and zeros.
struct Place {
  std::string name = "unknown"; // of a variable or expression
  std::string file = "unknown"; // without its folders
  std::string line = "0", column = "0";
  bool known() const { return line != "0" || column != "0"; }
  std::string text() const { return file + ":" + line + ":" + column; }
};
// Parses the place of a construct. Both results may be null.
Place place_of_construct(const char* source);
// Parses a place. `mapped` may also be a bare name, as for global variables.
Place place_of(const char* mapped);

// Keeps the program's name for an object, and the place of its declaration, as clang wrote them; null: not known. Names
// are kept for objects that were mapped while a line about them could be printed, until another object is mapped at
// their address.
void keep_declared(int device, HostRange object, const char* declared);
// Returns both. `global`: the name of the object, if that is a global variable; else "".
Place declared_place(int device, const std::optional<HostRange>& object, const std::string& global = {});

// Rows up to `count` of the construct that this thread is in come from what the program calls `declared`.
void name_rows(std::size_t count, const char* declared);

// Dumps the tables of every device after the construct at `place`, line by line. kNoConstruct: at the program's end.
inline constexpr const char* kNoConstruct = "libomptarget:0:0";
std::vector<std::string> describe_tables(const std::string& place = kNoConstruct);
void tell_tables(const std::string& place = kNoConstruct);

} // namespace omptool::info
