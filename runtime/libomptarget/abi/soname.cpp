// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All there is of libomptarget.so.19.1 and its like: nothing. Each is another name for libomptarget.so,
// which it needs, so that programs of several compilers share one runtime in one process (decision 5).
