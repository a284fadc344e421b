// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checker records its findings in a shared table that `omptool run --check` reads when the program has ended.
// The same finding is recorded once, with its count.
#pragma once

#include "output/shared_table.h"

#include <string>
#include <string_view>

namespace omptool::check {

// Codes of findings: the number behind OMP. packager/machine/run_check/check_codes.py explains each code; a code never
// changes its meaning.
enum class Code : std::uint32_t {
  // Errors: OpenMP forbids it.
  kExtension = 301,   // a row maps more of an object than is present
  kRowsOverlap = 302, // two rows of a construct overlap
  kTooLong = 303,     // a section is longer than the host memory
  kAbsent = 304,      // an update, or a row with `present`, of absent memory
  kPiecemeal = 305,   // a region maps a member whose neighbour was mapped before, alone
  // Hints: it is legal, and often a mistake.
  kStillMapped = 311,
  kNotMapped = 312,       // a construct unmaps or updates unmapped memory
  kDangling = 313,        // a mapped pointer leads to host memory that is not mapped
  kHostPointer = 314,     // a region gets the host's address of memory that is mapped
  kAllocatedAgain = 315,  // the same object is created again and again
  kUnused = 316,          // an object that no kernel and no copy back could use
  kGlobalNotCopied = 317, // a map of a declare target variable, whose bytes differ on the device
  kPartBack = 318,        // a part of an object is copied back, and the rest goes with the object
  // Found by --check=full: errors, but for kResultLost and kStale, which are legal.
  kBeyondObject = 321, // a kernel reads or writes beyond an object
  kUnwritten = 322,    // a kernel reads unwritten device memory
  kResultLost = 323,   // a device's result is thrown away, and the host reads the variable
  kTooEarly = 324,     // the host uses memory of an unfinished region
  kStale = 325,        // a copy overwrites newer bytes
  // Hints of --check=full.
  kResultDropped = 331, // a device's result is thrown away
  kCopiedAgain = 332,   // the same bytes are copied again
  kRoundTrip = 333,     // bytes come back as they were, and go again
  kAlwaysInVain = 334,  // `always` copies bytes that had not changed
  kNotChecked = 340     // what the checker cannot see here
};

// Numbers that a finding lacks are 0, and its texts "".
struct Finding {
  Code code;
  std::string_view message;       // names the subject; a sentence without place and count
  std::string_view variable = {}; // its name; "": unknown
  std::string_view entry = {};    // the region
  std::string_view source = {};   // "file:line:column" of the construct
  const void* call = nullptr;     // where the program called the construct: behind the call
  const void* kernel = nullptr;   // the instruction of a kernel
  int device = -1;
  const void* host = nullptr; // the object
  std::uint64_t size = 0;
  std::uint64_t bytes = 0; // in all: of this one; the record has the sum
};

// Device-title record: describes a device of another rank, with this in place of a code and the title as message.
constexpr Code kDeviceTitle{1};

// A finding with texts of its own, for a caller that holds a lock now and records it later.
class KeptFinding {
public:
  explicit KeptFinding(const Finding& finding)
      : finding_(finding), message_(finding.message), variable_(finding.variable), entry_(finding.entry),
        source_(finding.source) {}
  Finding finding() const {
    Finding all = finding_;
    all.message = message_;
    all.variable = variable_;
    all.entry = entry_;
    all.source = source_;
    return all;
  }

private:
  const Finding finding_;
  const std::string message_, variable_, entry_, source_;
};

// Finding record in the table of findings. omptool/probes/reports/finding_report.py has the same layout.
struct FindingRecord {
  std::atomic<std::uint64_t> key;          // of code, texts but the message, and places; 0: nobody has taken the record
  std::atomic<std::uint64_t> count, bytes; // how often, and the sum
  std::uint64_t host, size;                // of the first, as the following
  std::uint64_t call;                      // an offset in call_file's first loaded byte
  std::uint64_t kernel;                    // an offset in the kernel's image
  std::atomic<std::uint32_t> number;       // 1 for the first; 0: it is not filled in
  Code code;
  std::int32_t process;
  std::int32_t device; // -1: none
  char message[504];
  char variable[120];
  char entry[392];
  char source[480];
  char call_file[480]; // the library or program that called
};
static_assert(sizeof(FindingRecord) == 2048);

// Level of the check. kEvents: constructs and operations; kFull: also accesses to memory by kernels and the host.
enum class Level : std::uint32_t { kNone, kEvents, kFull };

// Level that OMPTOOL_CHECK=FILE asks for, read from its table once.
Level level();
// Records a finding. The caller holds no lock: the dynamic linker names the place. A signal handler may call it.
void record(const Finding& finding);
// Records how a device of another rank is called.
void record_title(int device, std::string_view title);

} // namespace omptool::check
