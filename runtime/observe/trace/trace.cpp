// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/trace.h"

#include "observe/events/sink.h"
#include "process/message.h"
#include "process/per_process.h"
#include "thread_exit.h"
#include "threads/thread_records.h"
#include "trace/writer.h"

#include <algorithm>
#include <array>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <span>
#include <system_error>
#include <thread>

namespace omptool::trace {
namespace {

using observe::Operation;
using Clock = Operation::Clock;

std::uint64_t nanoseconds(Clock::time_point time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

// ---- what the environment asks for ----

Wanted asked_for; // written before anybody listens

std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value ? value : "";
}

struct Range {
  unsigned long long usual, least, most;
  const char* unit;
};

std::uint64_t number(const char* name, const Range& known) {
  const std::string asked = variable(name);
  if (asked.empty())
    return known.usual;
  char* end = nullptr;
  const unsigned long long read = std::strtoull(asked.c_str(), &end, 10);
  if (*end == '\0' && asked.front() != '-' && read >= known.least && read <= known.most)
    return read;
  say("the runtime ignores %s=%s and uses %llu; known values: integers from %llu to %llu, in %s", name, asked.c_str(),
      known.usual, known.least, known.most, known.unit);
  return known.usual;
}

bool asks_for_perfetto(const std::string& path) {
  const std::string asked = variable("OMPTOOL_TRACE_FORMAT");
  if (asked.empty())
    return path.ends_with(".pftrace");
  if (asked != "json" && asked != "pftrace")
    say("the runtime ignores OMPTOOL_TRACE_FORMAT=%s and uses json; known values: json, pftrace", asked.c_str());
  return asked == "pftrace";
}

// Reads the environment. LIBOMPTARGET_PROFILE is the variable of LLVM's runtime, whose file is JSON, too.
Wanted read_environment() {
  const std::string own = variable("OMPTOOL_TRACE"), profile = variable("LIBOMPTARGET_PROFILE");
  const bool is_perfetto = asks_for_perfetto(own);
  const std::uint64_t limit = number("OMPTOOL_TRACE_LIMIT", {1024, 1, (1 << 20) - 1, "MiB"}) << 20;
  const std::uint64_t least = number("LIBOMPTARGET_PROFILE_GRANULARITY", {0, 0, INT_MAX, "microseconds"}) * 1000;
  if (own.empty())
    return {profile, false, limit, least};
  if (!profile.empty())
    say("the runtime ignores LIBOMPTARGET_PROFILE=%s: OMPTOOL_TRACE=%s names the trace", profile.c_str(), own.c_str());
  return {own, is_perfetto, limit};
}

// ---- the records of threads ----

// Buffer: a ring of records, filled by one thread at a time, and emptied by the writing thread.
class Buffer {
public:
  static constexpr std::size_t kRoom = 1 << 14;   // records
  static constexpr std::size_t kMany = kRoom / 8; // to wake the writing thread takes its time

  // Adds a record; called by the buffer's thread. `fill` fills in the record in place, because a copy would stall on
  // the fresh stores. Returns how many records wait to be written.
  template <typename Fill> std::size_t add(const Fill& fill) {
    const std::size_t end = end_.load(std::memory_order_relaxed);
    fill(*std::construct_at(&at(end)));
    end_.store(end + 1, std::memory_order_release); // behind the record, which take() then sees
    return end + 1 - begin_.load(std::memory_order_acquire);
  }
  // Takes the waiting records, in one or two pieces; called by one thread at a time. Returns how many records were
  // added meanwhile.
  template <typename Write> std::size_t take(const Write& write) {
    const std::size_t end = end_.load(std::memory_order_acquire);
    for (std::size_t from = begin_.load(std::memory_order_relaxed); from != end;) {
      const std::size_t count = std::min(end - from, kRoom - from % kRoom);
      write(std::span<const Record>(&at(from), count));
      from += count;
    }
    begin_.store(end, std::memory_order_release); // behind the reading: add() may use the room again
    return end_.load(std::memory_order_relaxed) - end;
  }

  // Name cache for the buffer's thread alone.
  NameCache names;
  std::uint32_t thread = 0;

  std::atomic<bool> taken{true};
  Buffer* next = nullptr;

private:
  Record& at(std::size_t number) { return reinterpret_cast<Record*>(room_)[number % kRoom]; }

  alignas(64) std::atomic<std::size_t> end_{0};
  alignas(64) std::atomic<std::size_t> begin_{0};
  alignas(64) std::byte room_[kRoom * sizeof(Record)]; // most threads use little of it
};

struct Span {
  Clock::time_point began, ended; // one for an instant
  Kind kind;
  int device;
};

class Trace {
public:
  Trace() : start_(nanoseconds(observe::now())), writer_(asked_for, names, start_) {
    if (!writer_.is_open())
      is_over_ = true;
    else
      begin_to_write();
  }

  // Adds a record with a duration. `fill` fills in its other fields.
  template <typename Fill> void add(const Span& span, const Fill& fill) {
    if (is_over_.load(std::memory_order_relaxed) || is_left_out(span))
      return;
    Buffer& own = buffer();
    const std::size_t waiting = own.add([&](Record& record) {
      record.began = std::max(nanoseconds(span.began), start_); // an image may have been loaded before
      record.ended = std::max(nanoseconds(span.ended), start_);
      record.thread = own.thread;
      record.kind = span.kind;
      record.device = static_cast<std::int16_t>(span.device);
      fill(record);
    });
    if (waiting == Buffer::kMany)
      wake_writer();
    else if (waiting == Buffer::kRoom) // the writing thread does not keep up
      write();
  }
  std::uint32_t name(std::string_view text) { return buffer().names.number(names, text); }

  // Writes the records of all threads. Returns whether a thread has many records again, because such a thread wakes the
  // writer only once.
  bool write() {
    const std::lock_guard lock(writing_);
    bool has_many = false;
    for (Buffer* one = buffers_.first(); one; one = one->next)
      if (one->take([this](std::span<const Record> records) { writer_.write(records); }) >= Buffer::kMany)
        has_many = true;
    if (!writer_.is_open())
      is_over_ = true;
    return has_many;
  }
  void finish() {
    if (is_over_)
      return;
    write();
    is_over_ = true;
    const std::lock_guard lock(writing_);
    writer_.finish();
  }

  Names names;

private:
  // Returns whether the span is left out: instants go with the spans, except fallbacks of regions.
  static bool is_left_out(const Span& span) {
    return span.ended - span.began < std::chrono::nanoseconds(asked_for.least) && span.kind < Kind::kFallback;
  }

  Buffer& buffer();

  void wake_writer() {
    {
      const std::lock_guard lock(waiting_);
      is_wanted_ = true;
    }
    full_.notify_one();
  }
  void begin_to_write() {
    try {
      std::thread([this] { write_regularly(); }).detach();
    } catch (const std::system_error& error) {
      say("the trace is written when the process ends, and when much is to be written: %s", error.what());
    }
  }
  [[noreturn]] void write_regularly() {
    constexpr std::chrono::milliseconds kPause{100};
    for (;;) {
      {
        std::unique_lock lock(waiting_);
        full_.wait_for(lock, kPause, [this] { return std::exchange(is_wanted_, false); });
      }
      while (!is_over_ && write())
        ;
    }
  }

  const std::uint64_t start_;
  std::atomic<bool> is_over_{false};
  ThreadRecords<Buffer> buffers_;
  std::atomic<std::uint32_t> threads_{0};
  std::mutex waiting_;
  std::condition_variable full_;
  bool is_wanted_ = false; // under `waiting_`: a buffer has many
  std::mutex writing_;     // the members below
  Writer writer_;
};

thread_local constinit Buffer* mine [[gnu::tls_model("initial-exec")]] = nullptr;
// A child of fork() has another.
thread_local constinit const Trace* trace_of_mine [[gnu::tls_model("initial-exec")]] = nullptr;

// Gives the buffer of a thread that exits to the next thread.
constinit ThreadExit buffer_at_exit([](void* own) {
  trace_of_mine = nullptr;
  ThreadRecords<Buffer>::give_back(*static_cast<Buffer*>(own));
});

Buffer& Trace::buffer() {
  if (trace_of_mine != this) {
    trace_of_mine = this;
    mine = &buffers_.take();
    mine->thread = ++threads_;
    buffer_at_exit.arm(mine);
  }
  return *mine;
}

// ---- events ----

class Listener final : public observe::Listener {
public:
  void hear(const observe::Event& event) override {
    if (!observe::as<observe::OperationBegins>(event))
      observe::dispatch(event, [](const auto& one) { on(one, PerProcess<Trace>::get()); });
  }

private:
  static constexpr Kind kind_of(observe::Action action) { return static_cast<Kind>(action); }
  static constexpr Kind kind_of(Operation::Kind kind) {
    return static_cast<Kind>(static_cast<int>(Kind::kAllocate) + static_cast<int>(kind));
  }
  static_assert(static_cast<int>(observe::Action::kRoutine) == static_cast<int>(Kind::kRoutine) &&
                static_cast<int>(Operation::Kind::kBetweenDevices) ==
                    static_cast<int>(Kind::kBetweenDevices) - static_cast<int>(Kind::kAllocate));

  static void on(const observe::ConstructEnds& event, Trace& trace) {
    const observe::Call& call = event.call;
    trace.add({event.began, observe::now(), kind_of(call.action), call.device}, [&](Record& record) {
      record.construct = event.construct;
      record.place = event.is_later ? event.construct : 0;
      record.failed = event.failed;
      record.name = trace.name(call.action == observe::Action::kRoutine ? call.function : call.region);
      if (call.source)
        record.note = trace.name(call.source);
    });
  }
  static void on(const observe::OperationEnds& event, Trace& trace) {
    const Operation& operation = event.operation;
    if (operation.kind == Operation::Kind::kJoin)
      return;
    trace.add({operation.began, operation.ended, kind_of(operation.kind), operation.device}, [&](Record& record) {
      record.construct = operation.construct;
      record.bytes = operation.size;
      record.place = operation.queue;
      record.failed = operation.failed;
      if (operation.kind == Operation::Kind::kLaunch)
        record.name = trace.name(operation.entry);
    });
  }
  static void on(const observe::RowsSeen& event, Trace& trace) {
    using Seen = observe::RowsSeen::Kind;
    if (event.kind == Seen::kUpdated)
      return;
    const Clock::time_point now = observe::latest();
    for (const observe::RowSeen& row : event.rows) {
      if (!row.object)
        continue;
      trace.add({now, now, event.kind == Seen::kMapped ? Kind::kMapped : Kind::kReleased, event.device},
                [&](Record& record) {
                  record.construct = event.construct;
                  record.bytes = row.size;
                  record.place = reinterpret_cast<std::uintptr_t>(row.begin);
                  record.references =
                      static_cast<std::int32_t>(std::clamp<std::int64_t>(row.object->references, 0, INT32_MAX));
                });
    }
  }
  static void on(const observe::FellBack& event, Trace& trace) {
    const Clock::time_point now = observe::now();
    trace.add({now, now, Kind::kFallback, -1}, [&](Record& record) {
      record.construct = event.construct;
      record.name = trace.name(event.name);
      record.note = trace.name(event.reason);
    });
  }
  static void on(const observe::DeviceReady& event, Trace& trace) {
    const Clock::time_point now = observe::now();
    trace.add({now, now, Kind::kDevice, event.device}, [&](Record& record) {
      record.name = trace.name(event.title);
      record.note = trace.name(event.node);
      record.rank = event.rank;
    });
    trace.write(); // before any span of the device, whichever thread has that
  }
  static void on(const observe::ImageCompiled& event, Trace& trace) {
    trace.add({event.began, event.ended, Kind::kCompile, event.device}, [&](Record& record) {
      record.bytes = static_cast<std::int64_t>(event.size);
      record.failed = event.failed;
    });
  }
  static void on(const observe::ImageLoaded& event, Trace& trace) {
    trace.add({event.began, observe::now(), Kind::kLoad, event.device},
              [&](Record& record) { record.bytes = static_cast<std::int64_t>(event.size); });
  }
  template <typename Other> static void on(const Other&, Trace&) {} // no viewer needs it
};

} // namespace

void start() {
  static std::atomic<bool> is_known{false};
  if (is_known.exchange(true))
    return;
  asked_for = read_environment();
  if (asked_for.path.empty())
    return;
  PerProcess<Trace>::get();                   // before the first event
  static Listener* const only = new Listener; // threads go on while the process exits
  observe::subscribe(*only, observe::kHeard);
}

void finish() {
  if (Trace* const trace = PerProcess<Trace>::known())
    trace->finish();
}

} // namespace omptool::trace
