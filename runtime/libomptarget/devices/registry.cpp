// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/registry.h"

#include "observe/listeners.h"
#include "observe/report.h"
#include "observe/sink.h"
#include "process/loaded_object.h"
#include "process/read_only.h"
#include "rtl/launch_shape.h"

#include <pthread.h>

namespace omptool {
namespace {

std::atomic<Registry*> the_parents{nullptr};

// The devices that a thread prepares, innermost first. The core answers the requests of their images' constructors from
// what is there.
class Preparing {
public:
  explicit Preparing(const Device& device) : device_(&device), outer_(innermost_) { innermost_ = this; }
  ~Preparing() { innermost_ = outer_; }
  Preparing(const Preparing&) = delete;
  Preparing& operator=(const Preparing&) = delete;
  static bool here(const Device& device) {
    for (const Preparing* one = innermost_; one; one = one->outer_)
      if (one->device_ == &device)
        return true;
    return false;
  }

private:
  static thread_local const Preparing* innermost_;
  const Device* const device_;
  const Preparing* const outer_;
};
thread_local const Preparing* Preparing::innermost_ = nullptr;

} // namespace

constinit std::atomic<Registry*> Registry::the_registry{nullptr};

// In the child: locks may be held by threads that are gone, and devices do not follow. The child gives up the parent's
// state, unlocked and unfreed; a new registration starts anew.
void Registry::forget_after_fork() {
  if (Registry* left = the_registry.exchange(nullptr))
    the_parents = left;
}

bool Registry::lost_by_fork() noexcept {
  return the_parents && !current();
}

bool Registry::lost_any_device() noexcept {
  const Registry* const parents = lost_by_fork() ? the_parents.load() : nullptr;
  return parents && parents->device_count_ > 0;
}

// Nobody but this process looks into what it got, and it has no other thread that would change it.
const Kernel* Registry::lost_kernel(const void* host_address) noexcept {
  const Registry* const parents = lost_by_fork() ? the_parents.load() : nullptr;
  const KernelIndex* const index = parents ? parents->kernels_.published().load(std::memory_order_acquire) : nullptr;
  return index ? index->find(host_address) : nullptr;
}

Registry& Registry::obtain() {
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, forget_after_fork); });
  Registry* known = current();
  if (known)
    return *known;
  // Never destroyed: other threads may still offload while the process exits.
  auto* made = new Registry;
  made->parents_ = the_parents;
  request_barriers();
  if (the_registry.compare_exchange_strong(known, made))
    return *made;
  delete made;
  return *known;
}

// ---- libraries ----

void Registry::add(const void* descriptor, LibraryReader read) {
  const LoadedObject home = loaded_object_of(descriptor);
  read_only_memory.add(descriptor, home.constants);
  observe::report_regions();
  if (observe::heard()) [[unlikely]]
    observe::report(observe::LibraryRegistered{home.path});
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = ++last_number_;
  numbers_.emplace(descriptor, number);
  pending_.emplace(number, Registration{number, descriptor, read, home.permanent, home.object, home.name()});
  any_pending_ = true;
}

void Registry::remove(const void* descriptor) {
  read_only_memory.remove(descriptor);
  const std::shared_ptr<Library> gone = unlist(descriptor);
  kernels_.retired().collect();
  // The memory may go when this returns: wait for whoever still reads it.
  {
    const std::lock_guard nobody_reads(reading_);
  }
  if (!gone)
    return;
  std::map<int, LibraryOnDevice> images; // unloaded without the lock: their destructors may call this library
  {
    const std::lock_guard lock(mutex_);
    images.swap(gone->on_device);
  }
  for (const auto& [number, there] : images)
    unmap_globals(*gone, *device(number));
}

bool Registry::is_last(const void* descriptor) {
  const std::shared_lock lock(mutex_);
  return pending_.empty() && libraries_.size() == 1 && libraries_.begin()->second->descriptor == descriptor;
}

// Takes the library out of every list, so that new calls do not find it. Null: it was not settled.
std::shared_ptr<Library> Registry::unlist(const void* descriptor) {
  const std::lock_guard lock(mutex_);
  any_removed_ = true;
  if (examined_ == descriptor) // on another thread, which will find it gone
    examined_ = nullptr;
  const auto numbered = numbers_.find(descriptor);
  if (numbered == numbers_.end())
    return nullptr;
  const std::uint64_t number = numbered->second;
  numbers_.erase(numbered);
  if (const auto waiting = pending_.find(number); waiting != pending_.end()) {
    if (!deferred_.is_empty())
      forget_deferred_of(waiting->second);
    pending_.erase(waiting);
  }
  const auto at = libraries_.find(number);
  if (at == libraries_.end())
    return nullptr;
  const std::shared_ptr<Library> gone = at->second;
  gone->removed = true;
  libraries_.erase(at);
  deferred_.forget_within(gone->object);
  for (const HostRange& global : gone->globals)
    deferred_.forget_within(global);
  kernels_.publish(kernels_.without(gone));
  for (std::size_t i = 0; i < gone->entries->entries.size(); ++i)
    variables_.erase({reinterpret_cast<std::uintptr_t>(gone->entries->entries[i].address), number, i});
  forget_deferred(*gone->entries);
  return gone;
}

// Caller holds the lock. Of a library that nobody has looked into.
void Registry::forget_deferred_of(const Registration& waiting) {
  deferred_.forget_within(waiting.object);
  LibraryContents contents;
  if (!waiting.read(waiting.descriptor, contents).empty())
    return;
  forget_deferred(contents.table);
  for (const HostEntry& entry : contents.table.entries)
    if (is_variable(entry))
      deferred_.forget_within(HostRange::of(entry.address, entry.size));
}

// Caller holds the lock. Other libraries may have the kernels, too.
void Registry::forget_deferred(const EntryTable& table) {
  for (const HostEntry& entry : table.entries)
    if (entry.address && !kernels_.find(entry.address))
      deferred_.forget(entry.address);
}

std::vector<std::shared_ptr<Library>> Registry::libraries() {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Library>> all;
  for (const auto& [number, library] : libraries_)
    all.push_back(library);
  return all;
}

// From the first that the device has not loaded on, so that those before are not looked at each time.
std::vector<std::shared_ptr<Library>> Registry::libraries_to_load(Device& device) {
  const std::lock_guard lock(mutex_);
  const auto is_loaded = [&](const Library& library) {
    const auto there = library.on_device.find(device.number);
    return there != library.on_device.end() && there->second.loaded;
  };
  auto next = libraries_.upper_bound(device.loaded_up_to);
  for (; next != libraries_.end() && is_loaded(*next->second); ++next)
    device.loaded_up_to = next->first;
  std::vector<std::shared_ptr<Library>> rest;
  for (; next != libraries_.end(); ++next)
    rest.push_back(next->second);
  return rest;
}

// ---- devices ----

bool Registry::start(Device& device) {
  if (device.usable.load(std::memory_order_acquire))
    return true;
  observe::find_listeners();
  const observe::Postponed postponed;
  const std::lock_guard lock(device.preparing);
  const observe::Unheard here; // what it does with device memory is no business of the program
  if (device.state != Device::State::kUntouched)
    return device.state == Device::State::kReady;
  if (device.rtl.call().init_device(device.rtl_id) != 0) {
    device.state = Device::State::kFailed;
    device.failure = device.describe() + " could not be initialised" + device.rtl.last_error();
    return false;
  }
  if (device.memory.shares_host_memory())
    device.data.sharing.raise_to(Sharing::Mode::kOnly);
  if (device.memory.is_lost()) {
    device.state = Device::State::kFailed;
    device.failure = device.describe() + " is lost";
    return false;
  }
  device.state = Device::State::kReady;
  device.usable.store(true, std::memory_order_release);
  observe::report(observe::DeviceReady{device.number, device.rtl.name(), &device});
  return true;
}

bool Registry::prepare_now(Device& device) {
  if (device.prepared_for.load(std::memory_order_acquire) == generation_.load(std::memory_order_acquire) ||
      resolving_here_ || Preparing::here(device))
    return device.usable.load(std::memory_order_acquire);
  const Preparing here(device);
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  const bool started = start(device);
  if (started)
    for (const std::shared_ptr<Library>& library : libraries_to_load(device))
      load(library, device);
  const observe::Postponed postponed;
  const std::lock_guard lock(device.preparing);
  if (started)
    run_deferred(device);
  if (device.prepared_for.load(std::memory_order_relaxed) < generation)
    device.prepared_for.store(generation, std::memory_order_release);
  return device.usable.load(std::memory_order_acquire);
}

std::string Registry::reason_of(Device& device) {
  const std::lock_guard lock(device.preparing);
  return device.failure;
}

bool Registry::is_over() {
  const std::shared_lock lock(mutex_);
  return any_removed_ && libraries_.empty() && pending_.empty() && !examined_;
}

std::string Registry::reason_for_none() {
  if (resolving_here_)
    return "there is no device yet: a plugin makes this call while the runtime asks it for its devices";
  const std::lock_guard resolving(resolving_);
  if (rtls_.empty())
    return "there is no device: " + why_no_plugin();
  for (const std::unique_ptr<Rtl>& rtl : rtls_)
    if (!rtl->refusal().empty())
      return "there is no device: plugin " + rtl->name() + " was refused: " + rtl->refusal();
  for (const std::shared_ptr<Library>& library : libraries())
    for (const Library::Image& image : library->images)
      if (image.rtl)
        return "there is no device: plugin " + image.rtl->name() + " has none" + image.rtl->why_none();
  if (is_over())
    return "there is no device: every library has unregistered its images";
  {
    const std::shared_lock lock(mutex_);
    if (!ignored_.empty())
      return "there is no device: the runtime ignores the images of " + ignored_;
  }
  std::string names, refusals;
  for (const std::unique_ptr<Rtl>& rtl : rtls_)
    names += (names.empty() ? "" : ", ") + rtl->name();
  for (const std::shared_ptr<Library>& library : libraries())
    for (const Library::Image& image : library->images)
      if (refusals.empty() && !image.refusals.empty())
        refusals = ": " + image.refusals;
  return "there is no device: no plugin (" + names + ") accepts an image of this program" + refusals;
}

// ---- deferred work ----

void Registry::defer(Deferred work) {
  const std::lock_guard lock(mutex_);
  deferred_.add(std::move(work));
  generation_.fetch_add(1, std::memory_order_release);
}

// Caller holds device.preparing, so that no region runs before the constructors have.
void Registry::run_deferred(Device& device) {
  for (;;) {
    std::optional<Deferred> next;
    {
      const std::shared_lock lock(mutex_);
      next = deferred_.next(device);
    }
    if (!next)
      return;
    next->run(device);
  }
}

} // namespace omptool
