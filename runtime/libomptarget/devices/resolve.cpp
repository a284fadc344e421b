// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes in what has registered: reads descriptors, asks plugins, numbers devices.
#include "devices/registry.h"

#include "devices/other_cpu.h"
#include "observe/sink.h"
#include "process/message.h"

#include <algorithm>

namespace omptool {

thread_local constinit bool Registry::resolving_here_ = false;
constinit std::atomic<bool> Registry::numbers_all{false};

class Registry::Resolving {
public:
  Resolving() { resolving_here_ = true; }
  ~Resolving() { resolving_here_ = false; }
  Resolving(const Resolving&) = delete;
  Resolving& operator=(const Resolving&) = delete;
};

// Reports faults that end the use neither of a plugin nor of all of them.
static void tell_of_faults(const std::vector<UnreadFolder>& unread, const std::vector<std::unique_ptr<Rtl>>& found) {
  for (const UnreadFolder& folder : unread)
    say("OMPTOOL_PLUGIN_PATH names %s, which cannot be read: %s", folder.path.c_str(), folder.reason.c_str());
  for (const std::unique_ptr<Rtl>& rtl : found)
    if (!rtl->queues_lack().empty())
      say("the runtime uses the synchronous functions of plugin %s, which lacks some of the asynchronous ones: %s",
          rtl->name().c_str(), rtl->queues_lack().c_str());
}

void Registry::resolve_registrations() {
  if (resolving_here_)
    return;
  const Resolving here;
  open_rtls();
  if (numbers_all.load(std::memory_order_relaxed))
    number_unasked();
  while (Rtl* rtl = resolve_known())
    rtl->device_count();
}

void Registry::number_all() {
  numbers_all.store(true, std::memory_order_relaxed);
  resolve_registrations();
}

// The devices of plugins that no library has an image for, in name order.
void Registry::number_unasked() {
  for (const std::unique_ptr<Rtl>& rtl : rtls_)
    rtl->device_count(); // without the lock: a driver may need the dynamic linker
  const std::lock_guard resolving(resolving_);
  for (const std::unique_ptr<Rtl>& rtl : rtls_)
    number_devices(*rtl);
}

// Threads may each open them; the first list stays.
void Registry::open_rtls() {
  if (rtls_found_.load(std::memory_order_acquire))
    return;
  std::vector<UnreadFolder> unread;
  std::vector<std::unique_ptr<Rtl>> found = find_rtls(unread);
  static std::atomic<bool> told{false};
  if (!told.exchange(true))
    tell_of_faults(unread, found);
  const std::lock_guard resolving(resolving_);
  if (rtls_found_)
    return;
  rtls_ = std::move(found);
  rtls_found_.store(true, std::memory_order_release);
}

// Takes in libraries up to one whose plugin has yet to count its devices: that plugin, or null at the end.
Rtl* Registry::resolve_known() {
  const std::lock_guard resolving(resolving_);
  for (;;) {
    Registration next{};
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty()) {
        any_pending_ = false;
        return nullptr;
      }
      next = pending_.begin()->second;
      pending_.erase(pending_.begin());
      examined_ = next.descriptor;
    }
    const std::shared_ptr<Library> library = examine(next);
    if (!library)
      continue;
    if (Rtl* const rtl = uncounted(*library)) {
      const std::lock_guard lock(mutex_);
      if (examined_) // not unregistered in the meantime
        pending_.emplace(next.number, next);
      examined_ = nullptr;
      return rtl;
    }
    for (const Library::Image& image : library->images)
      if (image.rtl)
        number_devices(*image.rtl);
    if (library->remark) // here, once: what has to wait for a plugin is examined again
      say("%s %s", next.name.c_str(), library->remark);
    enlist(library);
  }
}

// A plugin that accepts an image but may be refused for its count of devices.
Rtl* Registry::uncounted(const Library& library) const {
  for (const Library::Image& image : library.images)
    if (image.rtl && !image.rtl->counted())
      return image.rtl;
  return nullptr;
}

// Null: malformed, or unregistered in the meantime.
std::shared_ptr<Library> Registry::examine(const Registration& registration) {
  const std::lock_guard reading(reading_);
  {
    const std::shared_lock lock(mutex_);
    if (!examined_)
      return nullptr;
  }
  LibraryContents contents;
  if (const std::string fault = registration.read(registration.descriptor, contents); !fault.empty()) {
    const std::string ignored = registration.name + ": " + fault;
    say("the runtime ignores the images of %s", ignored.c_str());
    const std::lock_guard lock(mutex_);
    if (ignored_.empty())
      ignored_ = ignored;
    return nullptr;
  }
  auto library = std::make_shared<Library>();
  library->descriptor = registration.descriptor;
  library->number = registration.number;
  library->permanent = registration.permanent;
  library->object = registration.object;
  library->globals_required = contents.globals_required;
  library->host_memory = contents.host_memory;
  library->remark = contents.remark;
  auto entries = std::make_shared<EntryTable>(std::move(contents.table));
  __tgt_offload_entry* const first = entries->records.data();
  __tgt_offload_entry* const last = first + entries->records.size();
  for (const HostEntry& entry : entries->entries)
    if (is_variable(entry) && entry.kind != EntryKind::kIndirect)
      library->globals.push_back(HostRange::of(entry.address, entry.size));
    else if (is_variable(entry))
      library->globals.push_back(HostRange::of(entry.address, entry.extent));
  for (const HostEntry& entry : entries->entries)
    if (const HostRange variable = variable_behind(entry); variable.size() > 0)
      library->globals.push_back(variable);
  library->entries = std::move(entries);
  for (const ImageBytes& bytes : contents.images) {
    __tgt_device_image image{bytes.begin, bytes.end, first, last};
    std::string refusals;
    Rtl* const owner = owner_of(image, refusals);
    library->images.push_back({image, owner, std::move(refusals), bytes.origin});
  }
  return library;
}

// Null, and what each plugin has against it, as far as they say.
Rtl* Registry::owner_of(__tgt_device_image& image, std::string& refusals) {
  for (const std::unique_ptr<Rtl>& rtl : rtls_) {
    if (!rtl->refusal().empty())
      continue;
    if (rtl->call().is_valid_binary(&image))
      return rtl.get();
    if (const std::string why = rtl->last_error(); !why.empty())
      refusals += (refusals.empty() ? "" : ", ") + rtl->name() + why;
  }
  const auto* const begin = static_cast<const std::byte*>(image.ImageStart);
  const auto* const end = static_cast<const std::byte*>(image.ImageEnd);
  const Bytes bytes(begin, begin < end ? static_cast<std::size_t>(end - begin) : 0);
  if (std::string fault = fault_of_cpu(bytes); !fault.empty())
    refusals = std::move(fault);
  return nullptr;
}

void Registry::number_devices(Rtl& rtl) {
  const int known = device_count_;
  for (int i = 0; i < known; ++i)
    if (&devices_[static_cast<std::size_t>(i)].load()->rtl == &rtl)
      return;
  const int room = static_cast<int>(kMostDevices) - known;
  const int count = std::min(rtl.device_count(), room);
  for (int i = 0; i < count; ++i)
    devices_[static_cast<std::size_t>(known + i)].store(new Device(known + i, rtl, i), std::memory_order_release);
  device_count_.store(known + count, std::memory_order_release);
  observe::host_number = known + count;
}

void Registry::enlist(const std::shared_ptr<Library>& library) {
  const std::lock_guard lock(mutex_);
  if (!examined_)
    return;
  libraries_.emplace(library->number, library);
  kernels_.publish(kernels_.with(library));
  for (std::size_t i = 0; i < library->entries->entries.size(); ++i)
    if (const HostEntry& entry = library->entries->entries[i]; is_variable(entry))
      variables_.insert({reinterpret_cast<std::uintptr_t>(entry.address), library->number, i});
  generation_.fetch_add(1, std::memory_order_release);
}

} // namespace omptool
