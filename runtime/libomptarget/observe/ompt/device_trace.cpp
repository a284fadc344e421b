// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/ompt/device_trace.h"

#include "observe/events/clock.h"
#include "observe/ompt/named.h"
#include "process/libomp.h"

#include <cstring>
#include <ctime>
#include <utility>

namespace omptool::ompt {
namespace {

// The bit of a type of records; 0: a device has none such. Those of events with begin and end are the same records.
constexpr unsigned bit_of(int type) {
  switch (type) {
  case kTarget:
  case kTargetEmi:
    return 1;
  case kDataOp:
  case kDataOpEmi:
    return 2;
  case kSubmit:
  case kSubmitEmi:
    return 4;
  default:
    return 0;
  }
}
constexpr unsigned kAllTypes = 7;

} // namespace

SetResult DeviceTrace::set(bool enable, int type) {
  const unsigned bits = type == 0 ? kAllTypes : bit_of(type);
  if (bits == 0)
    return type < kFirstEvent || type > kLastEvent ? kSetError : kSetNever;
  const std::lock_guard lock(mutex_);
  types_ = enable ? types_ | bits : types_ & ~bits;
  return kSetAlways;
}

bool DeviceTrace::start(BufferRequest request, BufferComplete complete) {
  if (!request || !complete)
    return false;
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_started_, true))
    return false;
  is_paused_ = false;
  request_ = request;
  complete_ = complete;
  return true;
}

bool DeviceTrace::pause(bool is_paused) {
  const std::lock_guard lock(mutex_);
  is_paused_ = is_paused;
  return is_started_;
}

bool DeviceTrace::flush() {
  Buffer full;
  {
    const std::lock_guard lock(mutex_);
    if (!is_started_)
      return false;
    full = std::exchange(buffer_, {});
  }
  give_back(full);
  return true;
}

bool DeviceTrace::stop() {
  const bool was_started = flush();
  const std::lock_guard lock(mutex_);
  is_started_ = false;
  return was_started;
}

bool DeviceTrace::Buffer::add(const Record& record) {
  if (size - used < sizeof record)
    return false;
  std::memcpy(bytes + used, &record, sizeof record);
  used += sizeof record;
  return true;
}

// Adds the record to a new buffer before other threads see the buffer, because they might fill it.
void DeviceTrace::add(const Record& record) {
  Buffer full;
  {
    const std::lock_guard lock(mutex_);
    if (!is_started_ || is_paused_ || !(types_ & bit_of(record.type)) || buffer_.add(record))
      return;
    full = std::exchange(buffer_, {});
  }
  give_back(full);
  Buffer fresh = ask();
  if (fresh.add(record)) { // else the tool gives none that is large enough
    const std::lock_guard lock(mutex_);
    if (is_started_)
      std::swap(buffer_, fresh); // another thread may have got one, too
  }
  give_back(fresh);
}

// Gives a buffer with its records back to the tool.
void DeviceTrace::give_back(const Buffer& buffer) const {
  if (buffer.bytes)
    complete_(device_, buffer.bytes, buffer.used, 0, 1);
}

DeviceTrace::Buffer DeviceTrace::ask() const {
  void* bytes = nullptr;
  std::size_t size = 0;
  request_(device_, &bytes, &size);
  return {static_cast<std::byte*>(bytes), bytes ? size : 0};
}

// ---- the interface ----

namespace {

int processors_of(void* device) {
  return device ? static_cast<int>(static_cast<DeviceTrace*>(device)->processors()) : 0;
}
std::uint64_t time_now(void*) {
  return DeviceTrace::time_of(observe::Clock::now());
}

// Translates a time to that of omp_get_wtime(), in seconds.
double translate_time(void* device, std::uint64_t time) {
  constexpr double kNanosecond = 1e-9;
  double now = 0;
  if (void* const wtime = find_in_libomp("omp_get_wtime")) {
    now = reinterpret_cast<double (*)()>(wtime)();
  } else {
    timespec clock{};
    ::clock_gettime(CLOCK_REALTIME, &clock);
    now = static_cast<double>(clock.tv_sec) + static_cast<double>(clock.tv_nsec) * kNanosecond;
  }
  return now - static_cast<double>(static_cast<std::int64_t>(time_now(device) - time)) * kNanosecond;
}

int set_trace(void* device, unsigned enable, unsigned type) {
  return device ? static_cast<DeviceTrace*>(device)->set(enable != 0, static_cast<int>(type)) : kSetError;
}
int set_native_trace(void*, int, int) {
  return kSetNever;
}
int start_trace(void* device, BufferRequest request, BufferComplete complete) {
  return device && static_cast<DeviceTrace*>(device)->start(request, complete);
}
int pause_trace(void* device, int is_paused) {
  return device && static_cast<DeviceTrace*>(device)->pause(is_paused != 0);
}
int flush_trace(void* device) {
  return device && static_cast<DeviceTrace*>(device)->flush();
}
int stop_trace(void* device) {
  return device && static_cast<DeviceTrace*>(device)->stop();
}

// Moves on by a record. Returns 0 where none follows.
int advance_cursor(void*, void*, std::size_t size, std::uint64_t current, std::uint64_t* next) {
  const std::uint64_t following = current + sizeof(Record);
  if (!next || following < current || following + sizeof(Record) > size)
    return 0;
  *next = following;
  return 1;
}
int record_type(void* buffer, std::uint64_t) {
  constexpr int kOmpt = 1, kInvalid = 3;
  return buffer ? kOmpt : kInvalid;
}
void* record_at(void* buffer, std::uint64_t current) {
  return buffer ? static_cast<std::byte*>(buffer) + current : nullptr;
}
void* native_record(void*, std::uint64_t, Id*) {
  return nullptr;
}
void* abstract_record(void*) {
  return nullptr;
}

} // namespace

AnyFunction DeviceTrace::look_up(const char* name) {
  static const Named functions[] = {
      named("ompt_get_device_num_procs", processors_of),
      named("ompt_get_device_time", time_now),
      named("ompt_translate_time", translate_time),
      named("ompt_set_trace_ompt", set_trace),
      named("ompt_set_trace_native", set_native_trace),
      named("ompt_start_trace", start_trace),
      named("ompt_pause_trace", pause_trace),
      named("ompt_flush_trace", flush_trace),
      named("ompt_stop_trace", stop_trace),
      named("ompt_advance_buffer_cursor", advance_cursor),
      named("ompt_get_record_type", record_type),
      named("ompt_get_record_ompt", record_at),
      named("ompt_get_record_native", native_record),
      named("ompt_get_record_abstract", abstract_record),
  };
  return find(functions, name);
}

} // namespace omptool::ompt
