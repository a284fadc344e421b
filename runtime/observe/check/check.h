// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::check {

// Starts the checker of OMPTOOL_CHECK=FILE, for `omptool run --check`: looks for mistakes of mapping. Listens from the
// first call on.
void start();

} // namespace omptool::check
