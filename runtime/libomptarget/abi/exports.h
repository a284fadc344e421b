// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exports functions from this library: visible, without an exception, and, where one name has two meanings, under an
// explicit symbol version (exports.map names the versions). Shared by the ABIs: reports constructs to listeners, and
// registers libraries.
#pragma once

#include "data/table/mapping_fault.h"
#include "devices/library_contents.h"
#include "observe/events/sink.h"
#include "offload/construct.h"
#include "process/message.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#define OMPTOOL_EXPORT __attribute__((visibility("default")))

// Exports `function` (an extern "C" name) as the string `versioned`, "name@VERSION".
#define OMPTOOL_EXPORT_AS(function, versioned) __asm__(".symver " #function ", " versioned)

// Declares an exported function that is another name of `function`, of the same unit.
#define OMPTOOL_EXPORT_ALIAS(function) __attribute__((visibility("default"), alias(function)))

namespace omptool {

// Runs `body`, the whole of an exported function. An exception (in practice: out of memory) leaves
// the tables in an unknown state, so it ends the program here rather than in a caller written in C.
template <typename Body> auto guarded(const char* call, const Body& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const MappingFault& fault) {
    die("%s", fault.what());
  } catch (const std::exception& error) {
    die("%s: %s", call, error.what());
  } catch (...) {
    die("%s: unknown exception", call);
  }
}

// Announces a call while it lasts, if anybody listens.
class ReportedCall {
public:
  // Reports a call. `device` is the program's number; the call's own device becomes that device's number.
  // Without a device the call has none. A call with a number of no device is not reported.
  explicit ReportedCall(const observe::Call& call, std::optional<std::int64_t> device = std::nullopt) {
    if (observe::may_be_heard()) [[unlikely]]
      begin(call, device);
  }
  // Returns the number of the device; -1 if the call is not reported, or for no device.
  int device() const { return device_; }

private:
  void begin(observe::Call call, std::optional<std::int64_t> device);
  int device_ = -1;
  std::shared_ptr<Kernel> kernel_; // whose name the construct has
  std::optional<observe::Construct> construct_;
};

// The registration calls of every ABI, which ignore a null descriptor. When the last library goes, LIBOMPTARGET_INFO
// prints the tables that it asks for.
void register_library(const void* descriptor, LibraryReader read) noexcept;
void unregister_library(const void* descriptor) noexcept;

// Returns the text of a fault of one row or element of a call's arrays, with what the program wrote there.
std::string describe_fault(const char* fault, const void* begin, std::int64_t size, std::uint64_t type);

} // namespace omptool
