// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the core that has opened this library, under their own names (core.cpp): observers include the core's
// headers, and call say(), observe::subscribe() and the like.
#pragma once

#include "observe/observers.h"

namespace omptool::observe {

// Takes the core. Returns false for one of another build.
bool take_core(const Core& core);
const Core& core();

} // namespace omptool::observe
