// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_TRACE=FILE, or LIBOMPTARGET_PROFILE=FILE, as LLVM's runtime calls it: what ran where and when. Threads keep
// records in buffers of their own; a thread of the runtime writes them every tenth of a second, so that FILE is whole
// up to then however the process ends. Each process has a file of its own.
#pragma once

namespace omptool::trace {

// Begins, if the environment asks for it.
void start();
// Writes what is left. Called behind the program's own end, and so behind that of its devices.
void finish();

} // namespace omptool::trace
