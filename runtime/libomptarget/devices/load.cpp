// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device images: loaded when a device is first used, their variables mapped, their constructors run.
#include "devices/pairing.h"
#include "devices/registry.h"

#include "observe/sink.h"
#include "process/message.h"
#include "rtl/launch_shape.h"

#include <algorithm>
#include <chrono>

namespace omptool {

bool Registry::is_loaded(const Library& library, const Device& device) {
  const std::shared_lock lock(mutex_);
  const auto there = library.on_device.find(device.number);
  return library.removed || (there != library.on_device.end() && there->second.loaded);
}

// Loads what the library has for the device. A caller inside dlopen() or dlclose() has the dynamic linker
// locked, which another thread that loads the same images may wait for, so nobody waits without end:
// then both load, the first to be done is published, and the other's images are unloaded.
void Registry::load(const std::shared_ptr<Library>& library, Device& device) {
  constexpr std::chrono::milliseconds kPatience{1000};
  if (is_loaded(*library, device))
    return;
  Images images; // unloaded without a lock: destructors may call this library
  std::string failure;
  const observe::Postponed postponed;
  const std::unique_lock loading(device.loading, kPatience);
  if (is_loaded(*library, device))
    return;
  images = load_images(*library, device, failure);
  const std::lock_guard lock(device.preparing);
  if (!is_loaded(*library, device))
    publish(*library, device, images, std::move(failure));
}

namespace {

tgt_target_table* load_binary(const Device& device, LoadedImage& image) {
  const RtlFunctions& call = device.rtl.call();
  std::vector<std::int64_t> extents;
  bool has_indirect = false;
  for (const HostEntry& entry : image.entries->entries) {
    const bool is_indirect = entry.kind == EntryKind::kIndirect && is_variable(entry);
    extents.push_back(is_indirect ? entry.extent : 0);
    has_indirect = has_indirect || is_indirect;
  }
  return has_indirect && call.load_indirect ? call.load_indirect(device.rtl_id, &image.image, extents.data())
                                            : call.load_binary(device.rtl_id, &image.image);
}

// Returns why the image's kernels would see another variable than the host's, as the end of a message, or "". An image
// of the same library has the variable already, and a variable has one copy on a device.
std::string second_copy(const Library& library, const LoadedImage& image,
                        const std::vector<std::shared_ptr<LoadedImage>>& others) {
  const std::vector<HostEntry>& entries = library.entries->entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_variable(entries[i]) ||
        (entries[i].kind != EntryKind::kGlobal && entries[i].kind != EntryKind::kOwnPointer))
      continue;
    const auto has = [&](const std::shared_ptr<LoadedImage>& other) { return other->addresses[i]; };
    if (image.addresses[i] && std::any_of(others.begin(), others.end(), has))
      return " (another image of this library has its global variable " + std::string(name_of(entries[i])) + ")";
  }
  return {};
}

// Returns why kernels on the device cannot use the host's memory, as the end of a message, or "".
std::string fault_of_memory(const Device& device) {
  const auto reaches_host_memory = device.rtl.call().reaches_host_memory;
  if (device.data.sharing.any() || !reaches_host_memory || reaches_host_memory(device.rtl_id) != 0)
    return {};
  return " (it requires unified_shared_memory" + device.rtl.last_error() + ")";
}

// Maps an entry whose host memory is never copied as it is.
void map_reference(const HostEntry& entry, void* there, const LoadedImage& image) {
  const DeviceMemory& memory = image.device.memory;
  HostRange host = HostRange::of(entry.address, entry.size);
  if (entry.kind == EntryKind::kHostPointer && !memory.submit(there, entry.address, entry.size))
    say("%s did not take the value of the variable %s%s", image.device.describe().c_str(), name_of(entry),
        memory.last_error().c_str());
  if (entry.kind == EntryKind::kIndirect) {
    host = HostRange::of(entry.address, entry.extent);
    if (!memory.retrieve(&there, there, sizeof there) || !there)
      return; // calls through it run the host's function
  }
  image.device.data.globals.map_global(host, there, name_of(entry), Sync::kNever);
  if (const HostRange variable = variable_behind(entry); variable.size() > 0)
    image.device.data.globals.map_in_place(variable, name_of(entry));
}

// Another library may have mapped the same variable: it has one copy on each device. Constructors and kernels may have
// changed that of an image which is constructed.
void map_global(const HostEntry& entry, void* there, const LoadedImage& image) {
  if (entry.kind == EntryKind::kGlobal)
    image.device.data.globals.map_global(HostRange::of(entry.address, entry.size), there, name_of(entry),
                                         image.constructed ? Sync::kCopied : Sync::kLoaded);
  else
    map_reference(entry, there, image);
}

void map_globals(const LoadedImage& image) {
  for (std::size_t i = 0; i < image.addresses.size(); ++i)
    if (is_variable(image.entries->entries[i]) && image.addresses[i])
      map_global(image.entries->entries[i], image.addresses[i], image);
}

} // namespace

// No lock is held: an image's constructors may call this library.
Registry::Images Registry::load_images(const Library& library, Device& device, std::string& failure) {
  Images images;
  for (const Library::Image& image : library.images) {
    if (image.rtl != &device.rtl)
      continue;
    auto loaded = std::make_shared<LoadedImage>(device, image.raw, library.entries);
    std::vector<char> bytes;
    if (!copy_bytes(library, loaded->image, bytes))
      return images;
    loaded->passings =
        passings_of(image.origin.form, image.origin.is_old, !takes_compilers_shapes(device.rtl.call(), device.rtl_id));
    loaded->compiler = image.origin.compiler;
    loaded->table = device.memory.is_lost() ? nullptr : load_binary(device, *loaded);
    if (loaded->table)
      observe::report(observe::ImageLoaded{device.number, image.raw.ImageStart,
                                           static_cast<std::size_t>(static_cast<const char*>(image.raw.ImageEnd) -
                                                                    static_cast<const char*>(image.raw.ImageStart))});
    if (loaded->table)
      images.push_back(std::move(loaded));
    else if (failure.empty())
      failure = "its image could not be loaded on " + device.describe() + device.memory.last_error();
  }
  return images;
}

// Makes `image` independent of its library's memory. False: the library has been unregistered.
bool Registry::copy_bytes(const Library& library, __tgt_device_image& image, std::vector<char>& bytes) {
  if (library.permanent)
    return true;
  const std::lock_guard reading(reading_);
  {
    const std::shared_lock lock(mutex_);
    if (library.removed)
      return false;
  }
  bytes.assign(static_cast<const char*>(image.ImageStart), static_cast<const char*>(image.ImageEnd));
  image.ImageStart = bytes.data();
  image.ImageEnd = bytes.data() + bytes.size();
  return true;
}

// Gives the library the images that can be used, and leaves the others to be unloaded. Caller holds
// device.preparing, so that constructors run once and before any region.
void Registry::publish(Library& library, Device& device, Images& images, std::string failure) {
  Images complete;
  for (const std::shared_ptr<LoadedImage>& image : images) {
    std::string fault = pair_entries(*image->table, *image->entries, image->addresses);
    if (fault.empty())
      fault = second_copy(library, *image, complete);
    if (fault.empty())
      fault = adopt(library, *image);
    if (fault.empty())
      complete.push_back(image);
    else if (failure.empty())
      failure = "its image could not be loaded on " + device.describe() + fault;
  }
  bool removed = false;
  {
    const std::lock_guard lock(mutex_);
    removed = library.removed;
    if (!removed)
      library.on_device[device.number] = {true, std::move(complete), std::move(failure)};
  }
  for (const HostRange& global : library.globals)
    if (removed)
      device.data.globals.unmap_global(global);
}

// Makes a loaded image part of its device: variables are mapped, constructors run. Returns what it
// lacks, as the end of a message, or "".
std::string Registry::adopt(const Library& library, LoadedImage& image) {
  const std::vector<HostEntry>& entries = library.entries->entries;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (library.globals_required && is_variable(entries[i]) && !image.addresses[i])
      return " (it lacks the global variable " + std::string(name_of(entries[i])) + ")";
  if (const std::string why = library.host_memory ? fault_of_memory(image.device) : ""; !why.empty())
    return why;
  if (library.host_memory)
    image.device.data.sharing.raise_to(Sharing::Mode::kRequired);
  map_globals(image);
  if (const std::string failed = image.run_all(EntryKind::kConstructor); !failed.empty()) {
    const std::string why = image.device.rtl.last_error();
    unmap_globals(library, image.device);
    return " (its constructor " + failed + " could not run" + why + ")";
  }
  image.constructed = true;
  return {};
}

void Registry::unmap_globals(const Library& gone, Device& device) {
  for (const HostRange& global : gone.globals)
    map_again(device.data.globals.unmap_global(global), device);
}

// Other libraries may list variables there: the first of each that has an image with it maps it.
void Registry::map_again(HostRange unmapped, Device& device) {
  struct Found {
    std::shared_ptr<LoadedImage> image;
    std::size_t entry;
  };
  std::vector<Found> found;
  {
    const std::shared_lock lock(mutex_);
    auto at = variables_.lower_bound({unmapped.begin, 0, 0});
    while (at != variables_.end() && at->address < unmapped.end) {
      const Library& library = *libraries_.at(at->library);
      const auto there = library.on_device.find(device.number);
      const Images images = there == library.on_device.end() ? Images() : there->second.images;
      const auto image = std::find_if(images.begin(), images.end(), [&](const std::shared_ptr<LoadedImage>& one) {
        return one->addresses[at->entry] != nullptr;
      });
      if (image == images.end()) {
        ++at;
        continue;
      }
      found.push_back({*image, at->entry});
      at = variables_.lower_bound({at->address + 1, 0, 0});
    }
  }
  for (const auto& [image, entry] : found)
    map_global(image->entries->entries[entry], image->addresses[entry], *image);
}

} // namespace omptool
