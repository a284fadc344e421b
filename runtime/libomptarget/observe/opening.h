// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens libomptool_observe.so, once, if a variable of the environment asks for one of its observers. Programs that run
// with raised privileges (AT_SECURE) never open it.
#pragma once

namespace omptool::observe {

// Starts the observers that count registrations. The caller holds no lock.
void start_early_observers();
// Starts all observers. The caller holds no lock.
void start_observers();

} // namespace omptool::observe
