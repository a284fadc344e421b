// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/report.h"

#include "file.h"
#include "observe/events/sink.h"
#include "process/message.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace omptool::observe {
namespace {

constexpr char kMagic[] = "OMPTRPT1";
constexpr std::uint32_t kMostRecords = 1 << 20;

struct Subject {
  Reported kind;
  std::int32_t device;
  std::string_view name;
  std::string_view reason = {};
};

class Table {
public:
  Table(ReportHeader* header, std::uint32_t records)
      : header_(header), records_(reinterpret_cast<ReportRecord*>(header + 1)), count_(records) {}

  // Null where the table is full. Two threads that come with one subject get one record.
  ReportRecord* record_of(const Subject& subject) const {
    const std::int32_t process = ::getpid();
    const std::uint64_t key = key_of(subject, process);
    for (std::uint32_t i = 0; i < count_; ++i) {
      ReportRecord& record = records_[(key + i) % count_];
      std::uint64_t there = 0;
      if (record.key.compare_exchange_strong(there, key)) {
        fill(record, subject, process);
        return &record;
      }
      if (there == key)
        return &record;
    }
    ++header_->lost;
    return nullptr;
  }

private:
  static std::uint64_t key_of(const Subject& subject, std::int32_t process) {
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    const auto add = [&hash](std::string_view bytes) {
      for (const char byte : bytes)
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
      hash *= 0x100000001b3; // the end of a text counts
    };
    const std::int32_t numbers[] = {static_cast<std::int32_t>(subject.kind), process, subject.device};
    add({reinterpret_cast<const char*>(numbers), sizeof numbers});
    add(subject.name);
    add(subject.reason);
    return hash ? hash : 1;
  }

  template <std::size_t size> static void copy(char (&place)[size], std::string_view text) {
    text.copy(place, size - 1); // the rest of the file is zeros
  }

  void fill(ReportRecord& record, const Subject& subject, std::int32_t process) const {
    record.kind = subject.kind;
    record.process = process;
    record.device = subject.device;
    copy(record.name, subject.name);
    copy(record.reason, subject.reason);
    record.number.store(++header_->used, std::memory_order_release);
  }

  ReportHeader* const header_;
  ReportRecord* const records_;
  const std::uint32_t count_;
};

class Report : public Listener {
public:
  explicit Report(const Table& table) : table_(table) {}

  void hear(const Event& event) override {
    std::visit([this](const auto& one) { on(one); }, event);
  }

private:
  void on(const LibraryRegistered& event) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(event.path.c_str(), target, sizeof target);
    const bool is_link = event.path == kProgram && size > 0;
    const std::string_view path = is_link ? std::string_view(target, static_cast<std::size_t>(size)) : event.path;
    table_.record_of({Reported::kLibrary, kNone, path});
  }
  void on(const DeviceReady& event) { table_.record_of({Reported::kDevice, event.device, event.plugin}); }
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

  ReportRecord* launch(const Operation& operation) const {
    const bool is_launch = operation.kind == Operation::Kind::kLaunch;
    return is_launch ? table_.record_of({Reported::kOnDevice, operation.device, operation.entry}) : nullptr;
  }

  static constexpr std::int32_t kNone = -1;
  static constexpr std::string_view kProgram = "/proc/self/exe";
  const Table table_;
};

// The file in memory, if it is what this runtime writes to.
ReportHeader* mapped(const char* path) {
  const File file(::open(path, O_RDWR | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.number(), &status) != 0) {
    say("the runtime reports no regions: OMPTOOL_REPORT=%s cannot be opened: %s", path, std::strerror(errno));
    return nullptr;
  }
  ReportHeader header{};
  const std::span<std::byte> room(reinterpret_cast<std::byte*>(&header), sizeof header);
  const bool is_read = S_ISREG(status.st_mode) && file.read(room);
  const std::uint64_t size = sizeof header + std::uint64_t{header.records} * sizeof(ReportRecord);
  if (!is_read || std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 ||
      header.record_size != sizeof(ReportRecord) || header.records == 0 || header.records > kMostRecords ||
      static_cast<std::uint64_t>(status.st_size) != size) {
    say("the runtime reports no regions: OMPTOOL_REPORT=%s is no table of this omptool's doctor", path);
    return nullptr;
  }
  void* const place = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (place == MAP_FAILED) {
    say("the runtime reports no regions: OMPTOOL_REPORT=%s cannot be mapped: %s", path, std::strerror(errno));
    return nullptr;
  }
  return static_cast<ReportHeader*>(place);
}

} // namespace

void report_regions() {
  static std::atomic<bool> is_known{false};
  if (is_known.exchange(true))
    return;
  const char* const path = ::secure_getenv("OMPTOOL_REPORT");
  ReportHeader* const header = path && *path ? mapped(path) : nullptr;
  if (!header)
    return;
  static Report* const only = new Report(Table(header, header->records)); // threads go on while the process exits
  subscribe(*only);
}

} // namespace omptool::observe
