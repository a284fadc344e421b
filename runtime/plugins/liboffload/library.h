// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library, opened at run time, with one form of its functions for all releases.
#pragma once

#include "ol.h"

#include <array>
#include <string>

namespace omptool::liboffload {

constexpr int kFirstRelease = 22, kFirstWithStrictShapes = 24, kFirstWithContexts = 24, kLastRelease = 24;

// Text of a failure: "olMemcpy: out of memory (7)".
std::string failure_of(const char* call, ol_result result);

class Library {
public:
  // Opens the library. "", or why it cannot be used.
  std::string open();
  // Lets it look for devices of the back ends.
  ol_result init(const std::uint32_t* backends, std::uint32_t count) const;

  int release() const { return release_; }
  const std::string& path() const { return path_; }
  // Release 22 and 23 launch generic kernels of clang's with a warp more than they are asked for.
  bool adds_warp() const { return release_ < kFirstWithStrictShapes; }

  // Creates a context. Before release 24 there is none, and `*made` stays null.
  ol_result create_context(ol_device device, ol_context* made) const;
  ol_result create_program(ol_context context, ol_device device, const void* data, std::size_t size,
                           ol_program* made) const;
  ol_result allocate(ol_context context, ol_device device, std::uint32_t type, std::size_t size, void** made) const;
  ol_result release(ol_context context, void* memory) const;
  ol_result unregister(ol_device device, void* memory) const;
  ol_result create_queue(ol_context context, ol_device device, ol_queue* made) const;
  ol_result create_event(ol_queue queue, ol_event* made) const;
  // Launches a kernel. `values` has a word for each argument.
  ol_result launch(ol_queue queue, ol_device device, ol_symbol kernel, const ol_launch_size& size, bool cooperates,
                   void** values, std::size_t count) const;

#define OMPTOOL_OL_MEMBER(name, parameters) ol_result(*name) parameters = nullptr;
  OMPTOOL_OL_SAME(OMPTOOL_OL_MEMBER)
#undef OMPTOOL_OL_MEMBER

private:
  bool has_contexts() const { return release_ >= kFirstWithContexts; }
  std::string find_functions(void* library);

  int release_ = 0;
  std::string path_;
#define OMPTOOL_OL_MEMBER(name) void* name##_ = nullptr;
  OMPTOOL_OL_DIFFERING(OMPTOOL_OL_MEMBER)
  OMPTOOL_OL_OF_24(OMPTOOL_OL_MEMBER)
#undef OMPTOOL_OL_MEMBER
};

} // namespace omptool::liboffload
