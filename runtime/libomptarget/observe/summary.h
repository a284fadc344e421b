// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// OMPTOOL_SUMMARY=1, for `omptool run --summary`: prints two tables on stderr when the process ends, of regions and of
// copies. Listens from the first call on.
void summarize();

} // namespace omptool::observe
