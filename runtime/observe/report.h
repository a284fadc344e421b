// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_REPORT=FILE: which regions ran where, and why on the host, for `omptool doctor --run`. FILE is a shared
// table.
#pragma once

#include "output/shared_table.h"

namespace omptool::observe {

// A record of the table. Its twin is omptool/probes/reports/region_report.py.
enum class Reported : std::uint32_t { kLibrary, kDevice, kOnDevice, kOnHost, kOfGcc, kLoaded };

struct ReportRecord {
  std::atomic<std::uint64_t> key;                  // hash of all below; 0: the record is free
  std::atomic<std::uint64_t> begun, ended, failed; // how often
  std::atomic<std::uint32_t> number;               // 1 for the first; 0: it is not filled in
  Reported kind;
  std::int32_t process; // 0: of several, which have loaded the file
  std::int32_t device;  // -1: none
  char name[984];       // of the region, the plugin or the library; truncated
  char reason[1016];    // of a device: its title
};
static_assert(sizeof(ReportRecord) == 2048);

// Reports regions if the environment asks for it, from the first call on.
void report_regions();
// Called when the process ends. A library that was compiled without -fopenmp-targets never calls the runtime: `omptool
// doctor --run` looks for regions in the files that are loaded now, which include those that the program opened.
void report_loaded_files();

} // namespace omptool::observe
