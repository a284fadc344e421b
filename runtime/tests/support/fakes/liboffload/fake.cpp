// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: devices, queues and failures.
#include "fake.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace fake_offload {
namespace {

std::atomic<bool> fault{false};

bool is_asked_for(const char* function) {
  static std::atomic<long> calls{0};
  static const long at = number_in("FAKE_OFFLOAD_FAIL_AT", 0);
  static const bool stay = number_in("FAKE_OFFLOAD_FAIL_ON", 0) != 0;
  static const char* const only = std::getenv("FAKE_OFFLOAD_FAIL_IN");
  if (at == 0 || (only && std::strcmp(only, function) != 0))
    return false;
  const long call = ++calls;
  if (call == at)
    std::fprintf(stderr, "FAKE: call %ld, %s, fails\n", call, function);
  return stay ? call >= at : call == at;
}

// Returns a kept result: the library keeps each text for good, too.
ol_result kept(std::uint32_t code, const std::string& details) {
  static std::map<std::pair<std::uint32_t, std::string>, std::unique_ptr<ol_error>>& all =
      *new std::map<std::pair<std::uint32_t, std::string>, std::unique_ptr<ol_error>>;
  const std::lock_guard lock(lock_of_all);
  const auto [at, is_new] = all.try_emplace({code, details});
  if (is_new)
    at->second.reset(new ol_error{code, at->first.second.c_str()});
  return at->second.get();
}

void serve(Queue* queue) {
  std::unique_lock lock(lock_of_all);
  for (;;) {
    changed.wait(lock, [&] { return queue->is_ended || !queue->waiting.empty(); });
    if (queue->waiting.empty())
      break;
    const std::function<void()> next = std::move(queue->waiting.front());
    queue->waiting.pop_front();
    queue->is_busy = true;
    lock.unlock();
    next();
    lock.lock();
    queue->is_busy = false;
    changed.notify_all();
  }
  delete queue;
}

} // namespace

std::mutex& lock_of_all = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;
std::set<void*>& handles = *new std::set<void*>;

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}

void misuse(const std::string& what) {
  std::fprintf(stderr, "FAKE: %s\n", what.c_str());
}

void set_fault() {
  fault = true;
}

bool has_fault() {
  return fault;
}

bool Call::shall_fail() {
  return is_asked_for(function_) || has_fault();
}

ol_result Call::ends(std::uint32_t code, const std::string& details) {
  static const int log = [] {
    const char* const path = std::getenv("FAKE_OFFLOAD_LOG");
    return path ? ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  }();
  if (log >= 0) {
    const std::string line = function_ + line_.str() + " = " + std::to_string(code) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(log, line.data(), line.size());
  }
  return code == kSuccess ? nullptr : kept(code, details.empty() ? "FAKE error" : details);
}

std::vector<Device>& devices() {
  static std::vector<Device>& all = *[] {
    auto* const made = new std::vector<Device>;
    const std::uint32_t backend = number_in("FAKE_OFFLOAD_CUDA", 0) ? OL_BACKEND_CUDA : OL_BACKEND_AMDGPU;
    for (int i = 0; i < static_cast<int>(number_in("FAKE_OFFLOAD_DEVICES", 1)); ++i)
      made->push_back({backend, i});
    made->push_back({OL_BACKEND_HOST, 0});
    return made;
  }();
  return all;
}

void add_handle(void* handle) {
  const std::lock_guard lock(lock_of_all);
  handles.insert(handle);
}

bool has_handle(void* handle, const char* what) {
  const std::lock_guard lock(lock_of_all);
  if (handles.contains(handle))
    return true;
  misuse(std::string("no such ") + what);
  return false;
}

void remove_handle(void* handle) {
  const std::lock_guard lock(lock_of_all);
  handles.erase(handle);
}

void add_work(Queue& queue, std::function<void()> work) {
  const std::lock_guard lock(lock_of_all);
  queue.waiting.push_back(std::move(work));
  changed.notify_all();
}

void wait_for(Queue& queue) {
  std::unique_lock lock(lock_of_all);
  changed.wait(lock, [&] { return !queue.is_busy && queue.waiting.empty(); });
}

} // namespace fake_offload

using namespace fake_offload;

#if FAKE_RELEASE == 22
FAKE_EXPORT ol_result olInit() {
  FAKE_CALL(call, olInit);
#else
FAKE_EXPORT ol_result olInit(const ol_init_arguments* arguments) {
  FAKE_CALL(call, olInit);
  if (arguments && arguments->size < sizeof *arguments)
    return call.ends(kInvalidArgument, "FAKE: the record is too small");
#endif
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olIterateDevices(ol_device_callback callback, void* data) {
  FAKE_CALL(call, olIterateDevices);
  for (Device& device : devices())
    if (!callback(reinterpret_cast<ol_device>(&device), data))
      break;
  return call.ends(kSuccess);
}

namespace {

std::string property(const Device& device, std::uint32_t what) {
  const auto number = [](auto value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const char* const name = std::getenv("FAKE_OFFLOAD_NAME");
  const auto* const platform = reinterpret_cast<const char*>(std::uintptr_t{device.backend});
  switch (what) {
  case OL_DEVICE_PLATFORM:
    return number(platform);
  case OL_DEVICE_NAME:
    return std::string(name ? name : "gfx90a") + '\0';
  case OL_DEVICE_PRODUCT:
    return std::string("FAKE GPU of liboffload") + '\0';
  case OL_DEVICE_DRIVER:
    return std::string("FAKE") + '\0';
  case OL_DEVICE_MOST_THREADS:
    return number(std::uint32_t{1024});
  case OL_DEVICE_UNITS:
    return number(std::uint32_t{4});
  case OL_DEVICE_MEMORY:
    return number(std::uint64_t{16} << 30);
  case OL_DEVICE_TEAM_MEMORY:
    return number(std::uint64_t{64} << 10);
  default:
    return {};
  }
}

} // namespace

FAKE_EXPORT ol_result olGetPlatformInfo(ol_platform platform, std::uint32_t what, std::size_t size, void* value) {
  FAKE_CALL(call, olGetPlatformInfo, what);
  const auto backend = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(platform));
  if (what != OL_PLATFORM_BACKEND || size < sizeof backend)
    return call.ends(kInvalidArgument);
  std::memcpy(value, &backend, sizeof backend);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olGetDeviceInfoSize(ol_device device, std::uint32_t what, std::size_t* size) {
  FAKE_CALL(call, olGetDeviceInfoSize, what);
  *size = property(*reinterpret_cast<Device*>(device), what).size();
  return call.ends(*size ? kSuccess : kInvalidArgument);
}

FAKE_EXPORT ol_result olGetDeviceInfo(ol_device device, std::uint32_t what, std::size_t size, void* value) {
  FAKE_CALL(call, olGetDeviceInfo, what);
  const std::string known = property(*reinterpret_cast<Device*>(device), what);
  if (known.empty() || size < known.size())
    return call.ends(kInvalidArgument);
  std::memcpy(value, known.data(), known.size());
  return call.ends(kSuccess);
}

#if FAKE_RELEASE >= 24
FAKE_EXPORT ol_result olCreateContext(std::size_t count, ol_device*, ol_context* made) {
  FAKE_CALL(call, olCreateContext, count);
  auto* const context = new int(0);
  add_handle(context);
  *made = reinterpret_cast<ol_context>(context);
  return call.ends(kSuccess);
}
#define CONTEXT ol_context context,
#define CHECK_CONTEXT                                                                                                  \
  if (!has_handle(context, "context"))                                                                                 \
    return call.ends(kInvalidArgument);
#else
#define CONTEXT
#define CHECK_CONTEXT
#endif

FAKE_EXPORT ol_result olCreateQueue(CONTEXT ol_device device, ol_queue* made) {
  FAKE_CALL(call, olCreateQueue);
  CHECK_CONTEXT
  auto* const queue = new Queue;
  queue->device = reinterpret_cast<Device*>(device);
  add_handle(queue);
  std::thread(serve, queue).detach();
  *made = reinterpret_cast<ol_queue>(queue);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olDestroyQueue(ol_queue handle) {
  FAKE_CALL(call, olDestroyQueue, handle);
  if (!has_handle(handle, "queue"))
    return call.ends(kInvalidArgument);
  remove_handle(handle);
  const std::lock_guard lock(lock_of_all);
  reinterpret_cast<Queue*>(handle)->is_ended = true;
  changed.notify_all();
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olSyncQueue(ol_queue handle) {
  if (!has_handle(handle, "queue"))
    return Call("olSyncQueue").ends(kInvalidArgument);
  wait_for(*reinterpret_cast<Queue*>(handle)); // before it may fail: what went wrong is reported when all is over
  FAKE_CALL(call, olSyncQueue, handle);
  return call.ends(kSuccess);
}

#if FAKE_RELEASE == 22
FAKE_EXPORT ol_result olCreateEvent(ol_queue handle, ol_event* made) {
#else
FAKE_EXPORT ol_result olCreateEvent(ol_queue handle, std::uint32_t, ol_event* made) {
#endif
  FAKE_CALL(call, olCreateEvent, handle);
  if (!has_handle(handle, "queue"))
    return call.ends(kInvalidArgument);
  auto* const event = new Event{std::make_shared<bool>(false)};
  add_handle(event);
  add_work(*reinterpret_cast<Queue*>(handle), [is_done = event->is_done] {
    const std::lock_guard lock(lock_of_all);
    *is_done = true;
  });
  *made = reinterpret_cast<ol_event>(event);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olDestroyEvent(ol_event handle) {
  FAKE_CALL(call, olDestroyEvent, handle);
  if (!has_handle(handle, "event"))
    return call.ends(kInvalidArgument);
  remove_handle(handle);
  delete reinterpret_cast<Event*>(handle);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olSyncEvent(ol_event handle) {
  if (!has_handle(handle, "event"))
    return Call("olSyncEvent").ends(kInvalidArgument);
  {
    std::unique_lock lock(lock_of_all);
    const std::shared_ptr<bool> is_done = reinterpret_cast<Event*>(handle)->is_done;
    changed.wait(lock, [&] { return *is_done; });
  }
  FAKE_CALL(call, olSyncEvent, handle);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olGetEventInfo(ol_event handle, std::uint32_t what, std::size_t size, void* value) {
  FAKE_CALL(call, olGetEventInfo, handle, what);
  if (!has_handle(handle, "event") || what != OL_EVENT_IS_COMPLETE || size != sizeof(bool))
    return call.ends(kInvalidArgument);
  const std::lock_guard lock(lock_of_all);
  *static_cast<bool*>(value) = *reinterpret_cast<Event*>(handle)->is_done;
  return nullptr;
}

FAKE_EXPORT ol_result olWaitEvents(ol_queue handle, ol_event* events, std::size_t count) {
  FAKE_CALL(call, olWaitEvents, handle, count);
  if (!has_handle(handle, "queue"))
    return call.ends(kInvalidArgument);
  for (std::size_t i = 0; i < count; ++i) {
    if (!has_handle(events[i], "event"))
      return call.ends(kInvalidArgument);
    add_work(*reinterpret_cast<Queue*>(handle), [is_done = reinterpret_cast<Event*>(events[i])->is_done] {
      std::unique_lock lock(lock_of_all);
      changed.wait(lock, [&] { return *is_done; });
    });
  }
  return call.ends(kSuccess);
}
