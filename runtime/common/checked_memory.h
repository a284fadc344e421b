// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells whether AddressSanitizer checks this build. It then sees every object only if each comes from the C library.
#pragma once

namespace omptool {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMemoryIsChecked = true;
#elif defined(__has_feature)
constexpr bool kMemoryIsChecked = __has_feature(address_sanitizer);
#else
constexpr bool kMemoryIsChecked = false;
#endif

} // namespace omptool
