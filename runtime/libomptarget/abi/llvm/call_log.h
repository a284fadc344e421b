// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one call did with mapped objects, told in LLVM's order: row by row, although the core works in
// steps that each go over all rows. The core notes what it does while there is a log, which is only in
// processes that asked for it with LIBOMPTARGET_INFO.
#pragma once

#include "abi/llvm/info.h"
#include "data/environment.h"

#include <cstdint>
#include <string>
#include <vector>

namespace omptool {

class CallLog {
public:
  explicit CallLog(int device) : device_(device), outer_(innermost_) { innermost_ = this; }
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // The log of the call that this thread is in, or null.
  static CallLog* current() { return watches(kWatchInfo) ? innermost_ : nullptr; }

  // Rows up to `count` come from what the program calls `declared`.
  void name_rows(std::size_t count, const char* declared) { names_.resize(std::max(count, names_.size()), declared); }

  // The rows have been bound, their references counted; before any copy. The table is locked.
  void mapped(Rows rows, Bindings& bound, bool host_memory);
  // References have been given up; before any copy. The table is locked.
  void released(Rows rows, Bindings& bound);
  // The objects of an update have been found.
  void found(Rows rows, Bindings& bound);
  // A region is about to run with what has been mapped.
  void launching(const std::string& kernel);
  // Bytes moved between `host`, usually a part of the object, and its copy on the device.
  void copied_in(const Mapping& object, const void* host, const void* there, std::int64_t size);
  void copied_out(const Mapping& object, const void* host, const void* there, std::int64_t size);
  // A pointer of the row has got a value that leads to something on the device.
  void attached(const Mapping& object, const Row& row, void* const& value, const void* there);
  // Prints what has been noted.
  void flush();

private:
  struct Event {
    std::int64_t order;
    std::string text;
  };
  const char* declared(std::size_t row) const { return row < names_.size() ? names_[row] : nullptr; }
  std::string name(std::size_t row) const;
  void note(std::uint32_t bit, std::int64_t order, std::string text);
  void note_mapped(std::size_t row, const Row& what, HostRange wanted, const void* base, const Mapping& object,
                   bool fresh, bool counted, std::int64_t later);
  static std::string used(const Row& row, const Mapping& object, std::int64_t count, const char* action);
  void copied(bool in, std::int64_t order, const Mapping& object, const void* host, const void* there,
              std::int64_t size);
  std::int64_t order_of_copy(bool in, const void* host, std::int64_t size) const;

  static thread_local CallLog* innermost_ [[gnu::tls_model("initial-exec")]];
  const int device_;
  CallLog* const outer_;
  std::vector<const char*> names_; // by row
  std::vector<Event> events_;
  std::vector<std::string> arguments_; // of the kernel: where they are
  bool backwards_ = false;             // rows are being released
  Rows rows_;                          // in work
};

} // namespace omptool
