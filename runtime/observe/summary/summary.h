// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// Summarizes regions and copies if the environment asks for it; listens from the first call on. When the process ends,
// or aborts: OMPTOOL_SUMMARY=1 prints tables of regions and copies on stderr, and =all prints all rows of them;
// OMPTOOL_SUMMARY_JSON=FOLDER writes a document for `omptool run --summary-json`, which makes the folder. `spread`:
// regions without a device number run on the least loaded device.
void summarize(bool spread);
// Prints and writes the summary, once: behind the program's own end, or before it aborts.
void report_summary();

} // namespace omptool::observe
