// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints what LIBOMPTARGET_INFO asks for, in the words that users of LLVM's runtime know (abi-facts.md, 10.1).
#pragma once

#include "observe/events.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace omptool::llvm {

enum Info : std::uint32_t {
  kInfoArguments = 0x1, // what a construct is called with
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

// One line about a device.
[[gnu::format(printf, 2, 3)]] void inform(int device, const char* format, ...);
// The same, with its end, for a text of several.
[[gnu::format(printf, 2, 3)]] std::string line_about(int device, const char* format, ...);
// A copy, without the device.
std::string describe(const observe::ObjectCopied& copied);

// "0x" and 16 digits.
std::string hex(std::uintptr_t address);
inline std::string hex(const void* address) {
  return hex(reinterpret_cast<std::uintptr_t>(address));
}

// Keeps the program's name for an object, and the place of its declaration, as clang wrote them. They are known of
// objects that were mapped while there was something to tell about them, until something else is mapped at their
// address.
class DeclaredNames {
public:
  static void set(int device, HostRange object, const char* declared); // null: not known
  static std::string of(int device, HostRange object);                 // "": not known
};

} // namespace omptool::llvm
