// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include "observe/events/sink.h"
#include "process/message.h"

#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>

namespace omptool::observe {
namespace {

struct Subject {
  Reported kind;
  std::int32_t device;
  std::string_view name;
  std::string_view reason = {};
};

class Table {
public:
  explicit Table(SharedTable<ReportRecord> records) : records_(records) {}

  // Null where the table is full. Two threads that come with one subject get one record.
  ReportRecord* record_of(const Subject& subject) const {
    const std::int32_t process = ::getpid();
    const std::int32_t numbers[] = {static_cast<std::int32_t>(subject.kind), process, subject.device};
    const std::string_view both(reinterpret_cast<const char*>(numbers), sizeof numbers);
    return records_.record_of(key_of({both, subject.name, subject.reason}), [&](ReportRecord& record) {
      record.kind = subject.kind;
      record.process = process;
      record.device = subject.device;
      set_text(record.name, subject.name);
      set_text(record.reason, subject.reason);
    });
  }

private:
  SharedTable<ReportRecord> records_;
};

class Report : public Listener {
public:
  explicit Report(const Table& table) : table_(table) {}

  void hear(const Event& event) override {
    dispatch(event, [this](const auto& one) { on(one); });
  }

private:
  void on(const LibraryRegistered& event) { list(Reported::kLibrary, event.path); }
  void on(const GccRegistered& event) { list(Reported::kOfGcc, event.path); }
  void on(const DeviceReady& event) { table_.record_of({Reported::kDevice, event.device, event.plugin, event.title}); }
  void on(const OperationBegins& event) {
    if (ReportRecord* const record = launch(event.operation))
      ++record->begun;
  }
  void on(const OperationEnds& event) {
    if (ReportRecord* const record = launch(event.operation))
      ++(event.operation.failed ? record->failed : record->ended);
  }
  void on(const FellBack& event) {
    if (ReportRecord* const record = table_.record_of({Reported::kOnHost, kNone, event.name, event.reason}))
      ++record->begun;
  }
  template <typename Other> void on(const Other&) {}

  void list(Reported kind, const std::string& file) const {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(file.c_str(), target, sizeof target);
    const bool is_link = file == kProgram && size > 0;
    table_.record_of({kind, kNone, is_link ? std::string_view(target, static_cast<std::size_t>(size)) : file});
  }
  ReportRecord* launch(const Operation& operation) const {
    const bool is_launch = operation.kind == Operation::Kind::kLaunch;
    return is_launch ? table_.record_of({Reported::kOnDevice, operation.device, operation.entry}) : nullptr;
  }

  static constexpr std::int32_t kNone = -1;
  static constexpr std::string_view kProgram = "/proc/self/exe";
  const Table table_;
};

} // namespace

void report_regions() {
  static std::atomic<bool> is_known{false};
  if (is_known.exchange(true))
    return;
  const char* const path = ::secure_getenv("OMPTOOL_REPORT");
  if (!path || !*path)
    return;
  std::string why;
  SharedHeader* const header = map_shared("OMPTRPT1", sizeof(ReportRecord), path, why);
  if (!header)
    return say("the runtime reports no regions: OMPTOOL_REPORT=%s %s", path, why.c_str());
  static Report* const only =
      new Report(Table(SharedTable<ReportRecord>(*header))); // threads go on while the process exits
  subscribe(*only);
}

} // namespace omptool::observe
