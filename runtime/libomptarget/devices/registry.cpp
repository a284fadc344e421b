// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/registry.h"

#include "observe/events/sink.h"
#include "observe/opening.h"
#include "process/read_only.h"

#include <algorithm>
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

void Registry::add(const void* descriptor, LibraryReader read) {
  LoadedObject home = loaded_object_of(descriptor);
  read_only_memory.add(home.constants);
  observe::start_early_observers();
  if (observe::heard()) [[unlikely]]
    observe::report(observe::LibraryRegistered{home.path});
  libraries_.add(descriptor, read, std::move(home));
}

void Registry::remove(const void* descriptor) {
  const bool was_last = observe::heard() && is_last(descriptor);
  const std::shared_ptr<Library> gone = libraries_.remove(descriptor);
  kernels_.retired().collect();
  libraries_.await_readers(); // the memory may go when this returns
  if (!gone)
    return;
  if (observe::heard()) [[unlikely]]
    observe::report(observe::LibraryUnregistered{kernels_of(*gone)});
  read_only_memory.remove(gone->home.constants);
  std::map<int, Library::OnDevice> images =
      gone->take_all(); // unloaded without a lock: destructors may call this library
  for (const auto& [number, there] : images)
    loader_.unmap_globals(*gone, *device(number));
  images.clear();
  if (was_last)
    observe::report(observe::DevicesFinish{});
}

std::shared_ptr<Kernel> Registry::find_kernel(const void* host_address) {
  resolver_.resolve_pending();
  return kernels_.find(host_address);
}

const Kernel::Loaded* Registry::look_for(const Kernel* kernel, Device& device, std::string& reason) {
  if (kernel)
    return kernels_.look_for(*kernel, device, reason);
  const std::string ignored = libraries_.ignored();
  reason = "no registered library lists it" + (ignored.empty() ? "" : "; the runtime ignores the images of " + ignored);
  return nullptr;
}

ImageOrigin Registry::images_at(const void* address) {
  const HostRange place = HostRange::of(address, 1);
  resolver_.resolve_pending();
  std::optional<ImageOrigin> joint;
  libraries_.each([&](const std::shared_ptr<Library>& library) {
    const HostRange object = library->home.object;
    if (object.size() > 0 && !object.contains(place)) // one that nobody knows may be meant
      return;
    for (const RegisteredImage& image : library->images)
      if (!joint)
        joint = image.origin;
      else if (joint->form != image.origin.form)
        joint->form = KernelForm::kAsCalled;
  });
  return joint.value_or(ImageOrigin{});
}

std::vector<Device*> Registry::used_devices(const void* host_address) {
  const std::shared_ptr<Kernel> kernel = host_address ? find_kernel(host_address) : nullptr;
  const auto is_meant = [&](const std::shared_ptr<Library>& library) {
    const auto owns = [&](const LibraryEntry& owner) { return owner.library == library; };
    return !host_address || (kernel && std::any_of(kernel->owners.begin(), kernel->owners.end(), owns));
  };
  std::vector<Device*> used;
  for (int number = 0; number < numbers_.count(); ++number) {
    bool is_used = false;
    libraries_.each([&](const std::shared_ptr<Library>& library) {
      library->on(number,
                  [&](const Library::OnDevice& there) { is_used = is_used || (there.used && is_meant(library)); });
    });
    if (is_used)
      used.push_back(device(number));
  }
  return used;
}

} // namespace omptool
