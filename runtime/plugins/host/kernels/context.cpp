// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "context.h"

#include "machine.h"

#if defined(OMPTOOL_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(OMPTOOL_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace omptool::host {

Context::Context(std::byte* stack, std::size_t size, Main main, void* argument) {
  position_ = machine::first_frame(stack + size / 16 * 16, main, argument);
#ifdef OMPTOOL_ADDRESS_SANITIZER
  bottom_ = stack;
  size_ = size;
#endif
#ifdef OMPTOOL_THREAD_SANITIZER
  fiber_ = __tsan_create_fiber(0);
  is_made_here_ = true;
#endif
}

Context::~Context() {
#ifdef OMPTOOL_THREAD_SANITIZER
  if (is_made_here_)
    __tsan_destroy_fiber(fiber_);
#endif
}

void Context::is_this_thread() {
#ifdef OMPTOOL_THREAD_SANITIZER
  fiber_ = __tsan_get_current_fiber();
#endif
}

inline void Context::begin_leaving([[maybe_unused]] Context& to) {
#if defined(OMPTOOL_ADDRESS_SANITIZER) || defined(OMPTOOL_THREAD_SANITIZER)
  to.left_ = this;
#endif
#ifdef OMPTOOL_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&fake_stack_, to.bottom_, to.size_);
#endif
#ifdef OMPTOOL_THREAD_SANITIZER
  __tsan_switch_to_fiber(to.fiber_, 0);
#endif
}

inline void Context::has_arrived() {
#ifdef OMPTOOL_ADDRESS_SANITIZER
  // The bounds of a thread's own stack are learnt when it is left.
  __sanitizer_finish_switch_fiber(fake_stack_, &left_->bottom_, &left_->size_);
#endif
}

void Context::leave_for(Context& to) {
  begin_leaving(to);
  omptool_host_switch(&position_, to.position_);
  has_arrived();
}

void Context::has_begun() {
  has_arrived();
}

} // namespace omptool::host
