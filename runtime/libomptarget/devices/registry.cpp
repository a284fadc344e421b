// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/registry.h"

#include "observe/events/sink.h"
#include "observe/opening.h"
#include "process/read_only.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace omptool {
namespace {

// Returns the names of the library's kernels. No device may have needed the library, which is read now in that case:
// the caller is its call that unregisters.
std::vector<std::string> kernels_of(const Library& library) {
  LibraryContents contents;
  const bool is_read = !library.table.entries.empty() || !library.images.empty();
  if (!is_read && !library.read(library.home.descriptor, contents).empty())
    return {};
  std::vector<std::string> names;
  for (const HostEntry& entry : (is_read ? library.table : contents.table).entries)
    if (entry.kind == EntryKind::kKernel && entry.name)
      names.emplace_back(entry.name);
  return names;
}

} // namespace

// ---- libraries ----

void Registry::add(const void* descriptor, LibraryReader read) {
  LoadedObject home = loaded_object_of(descriptor);
  read_only_memory.add(home.constants);
  observe::start_early_observers();
  if (observe::heard()) [[unlikely]]
    observe::report(observe::LibraryRegistered{home.path});
  const std::lock_guard lock(mutex_);
  if (home.object.size() > 0)
    objects_.insert_or_assign(home.object.begin, home.object.end);
  const auto library = std::make_shared<Library>(LibraryContents(), ++last_number_, read, std::move(home));
  registered_.emplace(descriptor, library);
  libraries_.emplace(library->number, library);
  any_pending_ = true;
}

void Registry::remove(const void* descriptor) {
  const bool was_last = observe::heard() && is_last(descriptor);
  const std::shared_ptr<Library> gone = unlist(descriptor);
  kernels_.retired().collect();
  // The memory may go when this returns: wait for whoever still reads it.
  {
    const std::lock_guard nobody_reads(reading_);
  }
  if (!gone)
    return;
  if (observe::heard()) [[unlikely]]
    observe::report(observe::LibraryUnregistered{kernels_of(*gone)});
  read_only_memory.remove(gone->home.constants);
  std::map<int, Library::OnDevice> images; // unloaded without the lock: their destructors may call this library
  {
    const std::lock_guard lock(mutex_);
    images.swap(gone->on_device);
  }
  for (const auto& [number, there] : images)
    unmap_globals(*gone, *device(number));
  images.clear();
  if (was_last)
    observe::report(observe::DevicesFinish{});
}

bool Registry::has_known(const void* address) {
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock lock(mutex_);
  const auto after = objects_.upper_bound(place);
  return after != objects_.begin() && place < std::prev(after)->second;
}

bool Registry::is_last(const void* descriptor) {
  const std::shared_lock lock(mutex_);
  return libraries_.size() == 1 && libraries_.contains(examined_up_to_) &&
         libraries_.begin()->second->home.descriptor == descriptor;
}

bool Registry::is_over() {
  const std::shared_lock lock(mutex_);
  return last_number_ != 0 && libraries_.empty();
}

// Takes the library out of every list, so that new calls do not find it. Null: it has not registered.
std::shared_ptr<Library> Registry::unlist(const void* descriptor) {
  const std::lock_guard lock(mutex_);
  const auto at = registered_.find(descriptor);
  if (at == registered_.end())
    return nullptr;
  const std::shared_ptr<Library> gone = at->second;
  registered_.erase(at);
  libraries_.erase(gone->number);
  gone->removed = true;
  if (gone->number > examined_up_to_) { // nobody has read it, or another thread is reading it
    LibraryContents contents;
    const bool is_sound = !deferred_.empty() && gone->read(descriptor, contents).empty();
    forget_deferred(gone->home.object, is_sound ? contents.table : EntryTable());
    return gone;
  }
  kernels_.remove(gone);
  for (const HostEntry& entry : gone->table.entries) {
    const auto [first, last] = variables_.equal_range(reinterpret_cast<std::uintptr_t>(entry.address));
    const auto own = std::find_if(first, last, [&](const auto& one) { return one.second.library == gone; });
    if (own != last)
      variables_.erase(own);
  }
  forget_deferred(gone->home.object, gone->table);
  return gone;
}

// ---- kernels ----

std::shared_ptr<Kernel> Registry::find_kernel(const void* host_address) {
  resolve_pending();
  const std::shared_lock lock(mutex_);
  return kernels_.find(host_address);
}

const Kernel::Loaded* Registry::look_for(const Kernel* kernel, Device& device, std::string& reason) {
  if (!kernel) {
    const std::shared_lock lock(mutex_);
    reason =
        "no registered library lists it" + (ignored_.empty() ? "" : "; the runtime ignores the images of " + ignored_);
    return nullptr;
  }
  const auto search = [&] {
    const std::shared_lock lock(mutex_);
    return kernel->search(device.number);
  };
  Kernel::Found found = search();
  while (found.image) {
    const RtlFunctions& call = device.rtl.call();
    found.takes_shape = call.takes_shape && call.takes_shape(device.rtl_id, found.function) != 0;
    found.opens_parallel = call.opens_parallel && call.opens_parallel(device.rtl_id, found.function) != 0;
    Kernel::Found again; // outlives the lock: the last owner of an image unloads it
    const std::lock_guard lock(mutex_);
    again = kernel->search(device.number);
    if (again.image == found.image)
      return kernel->keep(device.number, found);
    std::swap(found, again);
  }
  reason = std::move(found.reason);
  if (reason.empty())
    reason = found.any_image ? "the image for " + device.describe() + " lacks it"
                             : "there is no image for " + device.describe();
  return nullptr;
}

void Registry::mark_unusable(const Kernel& kernel, Device& device, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (const LibraryEntry& owner : kernel.owners) {
    Library::OnDevice* const there = owner.library->on(device.number);
    if (!there)
      continue;
    there->unusable = true;
    there->failure = reason;
    for (const HostEntry& entry : owner.library->table.entries)
      for (const void* address : {static_cast<const void*>(entry.address), static_cast<const void*>(&entry)})
        if (const std::shared_ptr<Kernel>& other = kernels_.find(address))
          other->loaded.store(nullptr, std::memory_order_release);
  }
}

ImageOrigin Registry::images_at(const void* address) {
  const HostRange place = HostRange::of(address, 1);
  resolve_pending();
  const std::shared_lock lock(mutex_);
  std::optional<ImageOrigin> joint;
  for (const auto& [number, library] : libraries_) {
    const HostRange object = library->home.object;
    if (number > examined_up_to_)
      break;
    if (object.size() > 0 && !object.contains(place)) // one that nobody knows may be meant
      continue;
    for (const RegisteredImage& image : library->images)
      if (!joint)
        joint = image.origin;
      else if (joint->form != image.origin.form)
        joint->form = KernelForm::kAsCalled;
  }
  return joint.value_or(ImageOrigin{});
}

std::vector<Device*> Registry::used_devices(const void* host_address) {
  const std::shared_ptr<Kernel> kernel = host_address ? find_kernel(host_address) : nullptr;
  const auto is_meant = [&](const std::shared_ptr<Library>& library) {
    const auto owns = [&](const LibraryEntry& owner) { return owner.library == library; };
    return !host_address || (kernel && std::any_of(kernel->owners.begin(), kernel->owners.end(), owns));
  };
  std::vector<Device*> used;
  const std::shared_lock lock(mutex_);
  for (int number = 0; number < device_count_; ++number)
    if (std::any_of(libraries_.begin(), libraries_.end(), [&](const auto& one) {
          const Library::OnDevice* const there = one.second->on(number);
          return there && there->used && is_meant(one.second);
        }))
      used.push_back(device(number));
  return used;
}

// ---- deferred work ----

void Registry::defer(Deferred work) {
  const std::lock_guard lock(mutex_);
  deferred_.push_back(std::move(work));
  generation_.fetch_add(1, std::memory_order_release);
}

// Forgets what needs a library that is gone: its kernels, unless other libraries have them, too, or its memory, since a
// data call has no entry that names the library. Caller holds the lock.
void Registry::forget_deferred(HostRange object, const EntryTable& table) {
  const auto is_gone = [&](HostRange used) {
    return used.overlaps(object) || std::any_of(table.globals.begin(), table.globals.end(),
                                                [&](HostRange global) { return used.overlaps(global); });
  };
  for (Deferred& work : deferred_) {
    const auto is_its = [&](const HostEntry& entry) { return entry.address && entry.address == work.host_address; };
    const bool lists_it = std::any_of(table.entries.begin(), table.entries.end(), is_its);
    if ((lists_it && !kernels_.find(work.host_address)) || std::any_of(work.memory.begin(), work.memory.end(), is_gone))
      work = {};
  }
}

} // namespace omptool
