// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPT: what a performance tool that libomp has loaded learns about devices, target constructs, data
// operations and launches (abi-facts.md, 10.5). No device has traces of its own.
#pragma once

namespace omptool::ompt {

// Asks libomp for a tool. No lock may be held: a tool may call this library while it starts.
void connect();

} // namespace omptool::ompt
