// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/loader.h"

#include "devices/busy.h"
#include "observe/events/sink.h"
#include "observe/listeners.h"
#include "process/environment.h"
#include "process/message.h"

#include <algorithm>
#include <chrono>

namespace omptool {

namespace {

// Patience of a thread that waits for its turn. A thread inside dlopen() or dlclose() holds the dynamic linker's lock,
// and the thread that it waits for calls a plugin, which may wait for that lock.
constexpr std::chrono::seconds kPatience{1}; // to initialise a device or to load images, which two threads may both do
constexpr std::chrono::seconds kPatienceForOnce{10}; // for what must be done once

} // namespace

// Starts the device. Two threads may both initialise it; the first result counts.
bool Loader::start(Device& device) {
  if (device.usable.load(std::memory_order_acquire))
    return true;
  observe::find_listeners();
  const observe::Postponed postponed;
  const std::unique_lock turn(device.loading, kPatience);
  const observe::Unheard here; // what it does with device memory is no business of the program
  {
    const std::lock_guard lock(device.knowing);
    if (device.usable || !device.failure.empty())
      return device.usable;
  }
  std::string failure = initialise(device);
  const bool is_usable = failure.empty();
  const tgt_device_description said =
      (is_usable ? device.rtl.describe(device.rtl_id) : std::nullopt).value_or(tgt_device_description{});
  const std::string title = is_usable ? device.rtl.title_of(device.rtl_id) : std::string();
  {
    const std::lock_guard lock(device.knowing);
    if (device.usable || !device.failure.empty())
      return device.usable;
    device.failure = std::move(failure);
    device.usable.store(is_usable, std::memory_order_release);
  }
  if (is_usable)
    observe::report(observe::DeviceReady{device.number, device.rtl.name(), said.units, title,
                                         said.node[0] ? said.rank : -1, said.node, numbers_.peers_of(device)});
  return is_usable;
}

// Returns why the device cannot be used, or "".
std::string Loader::initialise(Device& device) {
  if (environment().policy == OffloadPolicy::kMandatory)
    if (std::string failed = numbers_.failed_plugin(); !failed.empty())
      return failed;
  if (device.rtl.call().init_device(device.rtl_id) != 0)
    return device.describe() + " could not be initialised" + device.rtl.last_error();
  const bool is_shared = device.memory.shares_host_memory();
  if (is_shared)
    device.data.sharing.raise_to(Sharing::Mode::kOnly);
  device.memory.guard_objects(is_shared);
  return device.memory.is_lost() ? device.describe() + " is lost" : std::string();
}

bool Loader::prepare(Device& device) {
  const std::uint64_t generation = libraries_.generation();
  if (device.prepared_for.load(std::memory_order_acquire) == generation || Busy::is_with(&libraries_) ||
      Busy::is_with(&device))
    return device.usable.load(std::memory_order_acquire);
  const Busy here{&device};
  if (!start(device))
    return false;
  while (const std::shared_ptr<Library> library = libraries_.next_to_load(device))
    if (!load(library, device))
      return false;
  const observe::Postponed postponed;
  const std::unique_lock turn(device.preparing, kPatienceForOnce);
  if (!turn)
    return false;
  deferred_.run_all(device);
  if (device.prepared_for.load(std::memory_order_relaxed) < generation)
    device.prepared_for.store(generation, std::memory_order_release);
  return true;
}

std::string Loader::reason_of(Device& device) const {
  if (device.usable)
    return device.describe() + " is still being prepared by another thread";
  const std::lock_guard lock(device.knowing);
  return device.failure;
}

// Loads the library's images for the device. If two threads load the same images, the first to finish publishes them,
// and the other's images are unloaded. Returns false if another thread has not finished the steps that happen once.
bool Loader::load(const std::shared_ptr<Library>& library, Device& device) {
  Images images; // unloaded without a lock: destructors may call this library
  std::string failure;
  const observe::Postponed postponed;
  const std::unique_lock loading(device.loading, kPatience);
  const auto is_loaded = [&] { return library->removed || library->is_on(device.number); };
  if (is_loaded())
    return true;
  images = load_images(library, device, failure);
  const std::unique_lock turn(device.preparing, kPatienceForOnce);
  if (turn && !is_loaded())
    publish(*library, device, images, std::move(failure));
  return turn.owns_lock();
}

namespace {

// Returns why kernels cannot use the variables of the image's library, as the end of a message, or "". A variable has
// one copy on a device; an image of the same library may have it already.
std::string fault_of_variables(const LoadedImage& image, const std::vector<std::shared_ptr<LoadedImage>>& others) {
  const std::vector<HostEntry>& entries = image.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_variable(entries[i]))
      continue;
    const bool has_copy = entries[i].kind == EntryKind::kGlobal || entries[i].kind == EntryKind::kOwnPointer;
    const auto has = [&](const std::shared_ptr<LoadedImage>& other) { return other->addresses[i]; };
    if (has_copy && image.addresses[i] && std::any_of(others.begin(), others.end(), has))
      return " (another image of this library has its global variable " + std::string(name_of(entries[i])) + ")";
    if (image.library->globals_required && !image.addresses[i])
      return " (it lacks the global variable " + std::string(name_of(entries[i])) + ")";
  }
  const Device& device = image.device;
  if (image.library->host_memory && !device.data.sharing.any() && !device.memory.reaches_host())
    return " (it requires unified_shared_memory" + device.rtl.last_error() + ")";
  return {};
}

// Maps an entry of the image's library, if it is a variable that the image has. Another library may have mapped the
// same variable: it has one copy on each device. Constructors and kernels may have changed that of an image which is
// constructed. Of other entries than globals the host's memory is never copied.
void map_global(const LoadedImage& image, std::size_t index) {
  const HostEntry& entry = image.entries()[index];
  void* there = image.addresses[index];
  if (!is_variable(entry) || !there)
    return;
  const DeviceMemory& memory = image.device.memory;
  if (entry.kind == EntryKind::kHostPointer && !memory.submit(there, entry.address, entry.size))
    say("%s did not take the value of the variable %s%s", image.device.describe().c_str(), name_of(entry),
        memory.last_error().c_str());
  if (entry.kind == EntryKind::kIndirect && (!memory.retrieve(&there, there, sizeof there) || !there))
    return; // calls through it run the host's function
  const Sync of_global = image.constructed ? Sync::kCopied : Sync::kLoaded;
  Globals& globals = image.device.data.globals;
  globals.map_global(memory_of(entry), there, name_of(entry),
                     entry.kind == EntryKind::kGlobal ? of_global : Sync::kNever);
  if (const HostRange variable = variable_behind(entry); variable.size() > 0)
    globals.map_in_place(variable, name_of(entry));
}

// Reports the compilation of an image, which the plugin describes after it has loaded the image, or has failed to.
void report_compilation(const LoadedImage& image, std::size_t size) {
  using Clock = std::chrono::steady_clock;
  const auto last_compilation = image.device.rtl.call().last_compilation;
  std::uint64_t began = 0, ended = 0;
  if (!observe::heard() || !last_compilation || image.device.memory.is_lost() || last_compilation(&began, &ended) == 0)
    return;
  const auto time = [](std::uint64_t count) { return Clock::time_point(std::chrono::nanoseconds(count)); };
  observe::report(observe::ImageCompiled{image.device.number, size, time(began), time(ended), !image.table});
}

} // namespace

// Loads the images without a lock, because their constructors may call this library.
Loader::Images Loader::load_images(const std::shared_ptr<Library>& library, Device& device, std::string& failure) {
  Images images;
  for (const RegisteredImage& image : library->images) {
    if (std::find(image.rtls.begin(), image.rtls.end(), &device.rtl) == image.rtls.end())
      continue;
    const auto loaded = std::make_shared<LoadedImage>(device, library, image);
    const auto began = std::chrono::steady_clock::now();
    if (!loaded->load(libraries_.reading()))
      return images;
    const std::size_t size = image.bytes().size();
    report_compilation(*loaded, size);
    if (loaded->table) {
      images.push_back(loaded);
      observe::report(observe::ImageLoaded{device.number, image.begin, size, loaded->module, began});
    } else if (failure.empty())
      failure = "its image could not be loaded on " + device.describe() + device.memory.last_error();
  }
  return images;
}

// Publishes usable images in the library; the others are unloaded. The caller holds device.preparing, so that
// constructors run once and before any region.
void Loader::publish(Library& library, Device& device, const Images& images, std::string failure) {
  Images complete;
  for (const std::shared_ptr<LoadedImage>& image : images)
    if (const std::string fault = adopt(*image, complete); fault.empty())
      complete.push_back(image);
    else if (failure.empty())
      failure = "its image could not be loaded on " + device.describe() + fault;
  Library::OnDevice loaded{std::move(complete), std::move(failure)};
  if (!library.publish(device.number, loaded))
    unmap_globals(library, device);
}

// Makes a loaded image part of its device: variables are mapped, constructors run. Returns what it
// lacks, as the end of a message, or "".
std::string Loader::adopt(LoadedImage& image, const Images& others) {
  const Library& library = *image.library;
  if (std::string why = image.pair_entries(); !why.empty())
    return why;
  if (std::string why = fault_of_variables(image, others); !why.empty())
    return why;
  if (library.host_memory)
    image.device.data.sharing.raise_to(Sharing::Mode::kRequired);
  for (std::size_t i = 0; i < image.entries().size(); ++i)
    map_global(image, i);
  if (const std::string failed = image.run_all(EntryKind::kConstructor); !failed.empty()) {
    std::string why = " (its constructor " + failed + " could not run" + image.device.rtl.last_error() + ")";
    unmap_globals(library, image.device);
    return why;
  }
  image.constructed = true;
  return {};
}

void Loader::unmap_globals(const Library& gone, Device& device) {
  for (const HostRange& global : gone.table.globals) {
    const HostRange unmapped = device.data.globals.unmap_global(global);
    for (const auto& [address, entry] : libraries_.images_with(unmapped, device.number))
      map_global(*entry.first, entry.second);
  }
}

} // namespace omptool
