// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime tells its user: single lines on stderr, each written by one call, so that lines of
// several threads or processes do not mix.
#pragma once

namespace omptool {

// One line; printf's format, no newline. Nothing under OMPTOOL_QUIET=1.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) noexcept;

// One line that nothing silences, then SIGABRT.
[[noreturn, gnu::format(printf, 1, 2)]] void die(const char* format, ...) noexcept;

} // namespace omptool
