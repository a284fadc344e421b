// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// Listens from the first call on, if the environment asks for it. When the process ends, or aborts:
// OMPTOOL_SUMMARY=1 prints tables of regions and copies on stderr, and =all prints all rows of them;
// OMPTOOL_SUMMARY_JSON=FOLDER writes a document for `omptool run --summary-json`, which makes the folder.
// `spread`: regions that name no device go to the least loaded one.
void summarize(bool spread);
// Prints and writes the summary, once: behind the program's own end, or before it aborts.
void report_summary();

} // namespace omptool::observe
