// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/findings.h"

#include "process/message.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

namespace omptool::check {
namespace {

using Records = observe::SharedTable<FindingRecord>;

observe::SharedHeader* map_table() {
  const char* const path = ::secure_getenv("OMPTOOL_CHECK");
  if (!path || !*path)
    return nullptr;
  std::string why;
  observe::SharedHeader* const header = observe::map_shared("OMPTCHK1", sizeof(FindingRecord), path, why);
  if (!header)
    say("the runtime checks nothing: OMPTOOL_CHECK=%s %s", path, why.c_str());
  return header;
}

// Table of findings, or null without `--check`.
observe::SharedHeader* table() {
  static observe::SharedHeader* const only = map_table();
  return only;
}

// A place in a file that is loaded.
struct Place {
  std::string_view file = {};
  std::uint64_t offset = 0;
};
Place place_of(const void* address) {
  Dl_info info{};
  if (!address || ::dladdr(address, &info) == 0)
    return {};
  const auto offset = static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase);
  return {info.dli_fname, static_cast<std::uint64_t>(offset)};
}

template <typename Number> std::string_view bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

} // namespace

Level level() {
  return table() ? static_cast<Level>(table()->options) : Level::kNone;
}

void record(const Finding& finding) {
  const Place call = place_of(finding.call), kernel = place_of(finding.kernel);
  const std::uint64_t key = observe::key_of({bytes_of(finding.code), finding.variable, finding.entry, finding.source,
                                             call.file, bytes_of(call.offset), bytes_of(kernel.offset)});
  FindingRecord* const record = Records(*table()).record_of(key, [&](FindingRecord& fresh) {
    fresh.host = reinterpret_cast<std::uintptr_t>(finding.host);
    fresh.size = finding.size;
    fresh.call = call.offset;
    fresh.kernel = kernel.offset;
    fresh.code = finding.code;
    fresh.process = ::getpid();
    fresh.device = finding.device;
    observe::set_text(fresh.message, finding.message);
    observe::set_text(fresh.variable, finding.variable);
    observe::set_text(fresh.entry, finding.entry);
    observe::set_text(fresh.source, finding.source);
    observe::set_text(fresh.call_file, call.file);
  });
  if (!record)
    return;
  record->count.fetch_add(1, std::memory_order_relaxed);
  record->bytes.fetch_add(finding.bytes, std::memory_order_relaxed);
}

void record_title(int device, std::string_view title) {
  const std::int32_t process = ::getpid();
  const std::uint64_t key = observe::key_of({bytes_of(kDeviceTitle), bytes_of(process), bytes_of(device), title});
  Records(*table()).record_of(key, [&](FindingRecord& fresh) {
    fresh.code = kDeviceTitle;
    fresh.process = process;
    fresh.device = device;
    observe::set_text(fresh.message, title);
  });
}

} // namespace omptool::check
