// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include "observe/events/sink.h"
#include "process/message.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

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

  // Finds or adds the record of a subject. Returns null if the table is full. Two threads that add one subject get one
  // record.
  ReportRecord* record_of(const Subject& subject) const { return record_of(subject, ::getpid()); }

  // Adds a file that this process has loaded. Processes that load the same files share the records.
  void add_loaded(std::string_view file) const { record_of({Reported::kLoaded, -1, file}, 0); }

private:
  ReportRecord* record_of(const Subject& subject, std::int32_t process) const {
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

  SharedTable<ReportRecord> records_;
};

// Return the files of the shared libraries that the process has loaded. The loader's lock is held during the walk only.
std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* found) {
        if (std::strchr(object->dlpi_name, '/')) // the program and the vDSO have no path
          static_cast<std::vector<std::string>*>(found)->emplace_back(object->dlpi_name);
        return 0;
      },
      &files);
  for (std::string& file : files) // the reader of the report has another working directory
    if (char path[PATH_MAX]; file[0] != '/' && ::realpath(file.c_str(), path))
      file = path;
  return files;
}

class Report : public Listener {
public:
  explicit Report(const Table& table) : table_(table) {}

  void hear(const Event& event) override {
    dispatch(event, [this](const auto& one) { on(one); });
  }

  void add_loaded_files() const {
    for (const std::string& file : loaded_files())
      table_.add_loaded(file);
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

// Return the report of this process, which listens from the first call on; null without OMPTOOL_REPORT.
const Report* start() {
  const char* const path = ::secure_getenv("OMPTOOL_REPORT");
  if (!path || !*path)
    return nullptr;
  std::string why;
  SharedHeader* const header = map_shared("OMPTRPT1", sizeof(ReportRecord), path, why);
  if (!header) {
    say("the runtime reports no regions: OMPTOOL_REPORT=%s %s", path, why.c_str());
    return nullptr;
  }
  Report* const report = new Report(Table(SharedTable<ReportRecord>(*header))); // threads go on while the process exits
  subscribe(*report);
  return report;
}

const Report* report_of_process() {
  static const Report* const only = start();
  return only;
}

} // namespace

void report_regions() {
  report_of_process();
}

void report_loaded_files() {
  if (const Report* const report = report_of_process())
    report->add_loaded_files();
}

} // namespace omptool::observe
