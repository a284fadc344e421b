// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "streams.h"

#include "state.h"

#include <set>
#include <thread>

namespace fake_cuda {
namespace {

std::set<Stream*>& streams = *new std::set<Stream*>;
std::set<Event*>& events = *new std::set<Event*>;

void serve(Stream* stream) {
  std::unique_lock lock(lock_of_all);
  for (;;) {
    changed.wait(lock, [&] { return stream->is_ended || !stream->waiting.empty(); });
    if (stream->waiting.empty())
      break;
    const Stream::Work next = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    stream->is_busy = true;
    lock.unlock();
    next.work();
    lock.lock();
    stream->is_busy = false;
    if (next.is_done)
      *next.is_done = true;
    changed.notify_all();
  }
  delete stream;
}

} // namespace

Stream* find(CUstream stream) {
  const std::lock_guard lock(lock_of_all);
  auto* const known = reinterpret_cast<Stream*>(stream);
  if (streams.contains(known))
    return known;
  misuse("no such stream");
  return nullptr;
}

Event* find(CUevent event) {
  const std::lock_guard lock(lock_of_all);
  auto* const known = reinterpret_cast<Event*>(event);
  if (events.contains(known))
    return known;
  misuse("no such event");
  return nullptr;
}

CUstream make_stream(int device) {
  auto* const stream = new Stream;
  stream->device = device;
  {
    const std::lock_guard lock(lock_of_all);
    streams.insert(stream);
  }
  std::thread(serve, stream).detach();
  return reinterpret_cast<CUstream>(stream);
}

void add(Stream& stream, std::function<void()> work, std::shared_ptr<bool> is_done) {
  const std::lock_guard lock(lock_of_all);
  stream.waiting.push_back({std::move(work), std::move(is_done)});
  changed.notify_all();
}

bool is_idle(Stream& stream) {
  return !stream.is_busy && stream.waiting.empty();
}

void wait_for(Stream& stream) {
  std::unique_lock lock(lock_of_all);
  changed.wait(lock, [&] { return is_idle(stream); });
}

void wait_for_all(int device) {
  std::unique_lock lock(lock_of_all);
  changed.wait(lock, [&] {
    for (Stream* const stream : streams)
      if (stream->device == device && !is_idle(*stream))
        return false;
    return true;
  });
}

} // namespace fake_cuda

using namespace fake_cuda;

// Counts the streams and events, for tests. The parameter is not used.
FAKE_EXPORT int fake_cuda_streams(int) {
  const std::lock_guard lock(lock_of_all);
  return static_cast<int>(streams.size());
}

FAKE_EXPORT int fake_cuda_events(int) {
  const std::lock_guard lock(lock_of_all);
  return static_cast<int>(events.size());
}

FAKE_EXPORT CUresult cuStreamCreate(CUstream* made, unsigned flags) {
  FAKE_CALL(call, cuStreamCreate, flags);
  const int device = current_device();
  if (device < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  *made = make_stream(device);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  FAKE_CALL(call, cuStreamDestroy, handle);
  Stream* const stream = find(handle);
  if (!stream)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  const std::lock_guard lock(lock_of_all);
  streams.erase(stream);
  stream->is_ended = true;
  changed.notify_all();
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  Stream* const stream = handle ? find(handle) : nullptr;
  if (handle && !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  // Before it may fail: a driver reports what went wrong when all is over.
  if (stream)
    wait_for(*stream);
  else
    wait_for_all(current_device());
  FAKE_CALL(call, cuStreamSynchronize, handle);
  return call.ends(fault_now());
}

FAKE_EXPORT CUresult cuStreamQuery(CUstream handle) {
  FAKE_CALL(call, cuStreamQuery, handle);
  Stream* const stream = find(handle);
  if (!stream)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  const std::lock_guard lock(lock_of_all);
  return call.ends(is_idle(*stream) ? fault_now() : CUDA_ERROR_NOT_READY);
}

FAKE_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent of, unsigned flags) {
  FAKE_CALL(call, cuStreamWaitEvent, handle, of, flags);
  Stream* const stream = find(handle);
  Event* const event = find(of);
  if (!stream || !event)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<bool> is_done;
  {
    const std::lock_guard lock(lock_of_all);
    is_done = event->is_done;
  }
  add(*stream, [is_done] {
    std::unique_lock lock(lock_of_all);
    changed.wait(lock, [&] { return *is_done; });
  });
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventCreate(CUevent* made, unsigned flags) {
  FAKE_CALL(call, cuEventCreate, flags);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  auto* const event = new Event;
  const std::lock_guard lock(lock_of_all);
  events.insert(event);
  *made = reinterpret_cast<CUevent>(event);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventDestroy_v2(CUevent handle) {
  FAKE_CALL(call, cuEventDestroy, handle);
  Event* const event = find(handle);
  if (!event)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  const std::lock_guard lock(lock_of_all);
  events.erase(event);
  delete event;
  return call.ends(CUDA_SUCCESS);
}

// Used by LLVM's plugin under this name.
FAKE_EXPORT CUresult cuEventDestroy(CUevent handle) {
  return cuEventDestroy_v2(handle);
}

FAKE_EXPORT CUresult cuEventRecord(CUevent handle, CUstream in) {
  FAKE_CALL(call, cuEventRecord, handle, in);
  Event* const event = find(handle);
  Stream* const stream = find(in);
  if (!event || !stream)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  const std::shared_ptr<bool> is_done = std::make_shared<bool>(false);
  {
    const std::lock_guard lock(lock_of_all);
    event->is_done = is_done;
  }
  add(*stream, [] {}, is_done);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventQuery(CUevent handle) {
  FAKE_CALL(call, cuEventQuery, handle);
  Event* const event = find(handle);
  if (!event)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  const std::lock_guard lock(lock_of_all);
  return call.ends(*event->is_done ? fault_now() : CUDA_ERROR_NOT_READY);
}

FAKE_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  Event* const event = find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  {
    std::unique_lock lock(lock_of_all);
    const std::shared_ptr<bool> is_done = event->is_done;
    changed.wait(lock, [&] { return *is_done; });
  }
  FAKE_CALL(call, cuEventSynchronize, handle);
  return call.ends(fault_now());
}
