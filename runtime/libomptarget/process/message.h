// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the runtime's messages to its user: single lines on stderr, each written by one call, so that lines of several
// threads or processes do not mix.
#pragma once

namespace omptool {

// Prints one line; printf's format, no newline. A line that the process has printed before is counted, and its count is
// printed when the process ends. Nothing under OMPTOOL_QUIET=1.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) noexcept;
// Prints a line as say() does, also under OMPTOOL_QUIET=1.
[[gnu::format(printf, 1, 2)]] void warn(const char* format, ...) noexcept;

// Prints one line behind `prefix`, each time, whatever the settings: output that the user asked for, or the reason of
// the program's end.
[[gnu::format(printf, 2, 3)]] void tell(const char* prefix, const char* format, ...) noexcept;

// Prints one line, whatever the settings, and raises SIGABRT.
[[noreturn, gnu::format(printf, 1, 2)]] void die(const char* format, ...) noexcept;
// Prints a line in LLVM's form, and raises SIGABRT. The line begins with `place` in the source, unless that is "", and
// has LLVM's number of the error.
[[noreturn, gnu::format(printf, 3, 4)]] void die_at(const char* place, int number, const char* format, ...) noexcept;

} // namespace omptool
