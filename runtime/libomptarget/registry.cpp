// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "registry.h"

#include "info.h"
#include "message.h"
#include "ompt.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <span>

namespace omptool {
namespace {

std::atomic<Registry*> the_parents{nullptr};

// The executable or shared library that a descriptor is part of.
struct Home {
  const void* descriptor;
  HostRange object; // empty: none of them
  bool permanent;   // the executable, which is never unloaded
};

int visit_object(dl_phdr_info* info, std::size_t, void* context) {
  Home& home = *static_cast<Home*>(context);
  HostRange object{UINTPTR_MAX, 0};
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum))
    if (segment.p_type == PT_LOAD) {
      object.begin = std::min(object.begin, info->dlpi_addr + segment.p_vaddr);
      object.end = std::max(object.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
  const std::uintptr_t descriptor = reinterpret_cast<std::uintptr_t>(home.descriptor);
  if (descriptor < object.begin || descriptor >= object.end)
    return 0;
  home.object = object;
  home.permanent = !info->dlpi_name || !*info->dlpi_name;
  return 1;
}

Home home_of(const void* descriptor) {
  Home home{descriptor, {}, false};
  ::dl_iterate_phdr(visit_object, &home);
  return home;
}

// Whether the plugin has answered with one record for each of the host's.
bool fits(const tgt_target_table& table, const EntryTable& entries) {
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(table.EntriesBegin);
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(table.EntriesEnd);
  return first <= last && (first != 0 || last == 0) &&
         last - first == entries.records.size() * sizeof *table.EntriesBegin;
}

const char* name_of(const HostEntry& entry) {
  return entry.name ? entry.name : "(unnamed)";
}

bool is_variable(const HostEntry& entry) {
  return entry.address && entry.size > 0;
}

// A thread that asks plugins: what they or their drivers ask in turn is answered from what is known.
thread_local bool settling_here = false;

class Settling {
public:
  Settling() { settling_here = true; }
  ~Settling() { settling_here = false; }
  Settling(const Settling&) = delete;
  Settling& operator=(const Settling&) = delete;
};

// The devices that a thread prepares, innermost first. What the constructors of their images ask for is
// answered from what is there.
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

std::vector<HostRange> Kernel::globals() const {
  std::vector<HostRange> all;
  for (const Owner& owner : owners)
    all.insert(all.end(), owner.library->globals.begin(), owner.library->globals.end());
  return all;
}

std::string Kernel::ambiguity() const {
  const auto entry_name = [](const Owner& owner) {
    return std::string(name_of(owner.library->entries->entries[owner.index]));
  };
  for (const Owner& owner : owners)
    if (const std::string first = entry_name(owners.front()), other = entry_name(owner); first != other)
      return "its host address stands for two kernels, " + first + " and " + other +
             " (identical functions folded by the linker)";
  if (in_several_objects())
    return "several libraries have a kernel of this name at one address, and its caller is in none of them";
  return {};
}

// The linker gives one address to what has one name, and kernels of one file that was compiled twice have.
bool Kernel::in_several_objects() const {
  return std::any_of(owners.begin(), owners.end(), [&](const Owner& owner) {
    return owner.library->object.begin != owners.front().library->object.begin;
  });
}

constinit std::atomic<Registry*> Registry::the_registry{nullptr};

// In the child: locks may be held by threads that are gone, and devices do not follow. What the
// parent had is given up, unlocked and unfreed; a new registration starts anew.
void Registry::forget_after_fork() {
  if (Registry* left = the_registry.exchange(nullptr))
    the_parents = left;
}

bool Registry::lost_by_fork() noexcept {
  return the_parents && !current();
}

Registry& Registry::obtain() {
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, forget_after_fork); });
  Registry* known = current();
  if (known)
    return *known;
  read_info();
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

LoadedImage::~LoadedImage() {
  if (constructed)
    if (const std::string failed = run_all(EntryKind::kDestructor); !failed.empty())
      say("the destructor %s could not run on %s%s", failed.c_str(), device.describe().c_str(),
          device.plugin.last_error().c_str());
  if (table && device.plugin.call().unload_binary)
    device.plugin.call().unload_binary(device.rtl_id, &image);
}

std::string LoadedImage::run_all(EntryKind kind) const {
  const std::size_t count = entries->entries.size();
  for (std::size_t done = 0; done < count; ++done) {
    const std::size_t i = kind == EntryKind::kDestructor ? count - 1 - done : done; // as C++ destroys
    if (entries->entries[i].kind != kind)
      continue;
    void* const function = table->EntriesBegin[i].addr;
    if (!function || device.plugin.call().run_target_region(device.rtl_id, function, nullptr, 0) != 0)
      return name_of(entries->entries[i]);
  }
  return {};
}

void Registry::add(const void* descriptor, LibraryReader read) {
  const Home home = home_of(descriptor); // asks the dynamic linker
  const std::lock_guard lock(mutex_);
  pending_.push_back({descriptor, read, home.permanent, home.object});
  any_pending_ = true;
}

void Registry::remove(const void* descriptor) {
  const std::shared_ptr<Library> gone = unlist(descriptor);
  retired_.collect();
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
  return pending_.empty() && libraries_.size() == 1 && libraries_.front()->descriptor == descriptor;
}

// Takes the library out of every list, so that new calls do not find it. Null: it was not settled.
std::shared_ptr<Library> Registry::unlist(const void* descriptor) {
  const std::lock_guard lock(mutex_);
  any_removed_ = true;
  if (examined_ == descriptor) // on another thread, which will find it gone
    examined_ = nullptr;
  const auto waiting = std::find_if(pending_.begin(), pending_.end(), [&](const Registration& registration) {
    return registration.descriptor == descriptor;
  });
  if (waiting != pending_.end()) {
    LibraryContents contents;
    const bool readable = !waiting->read(descriptor, contents);
    forget_deferred_within(waiting->object);
    pending_.erase(waiting);
    for (const HostEntry& entry : contents.table.entries)
      if (readable) {
        forget_deferred(entry.address);
        if (is_variable(entry))
          forget_deferred_within(HostRange::of(entry.address, entry.size));
      }
  }
  const auto at = std::find_if(libraries_.begin(), libraries_.end(), [&](const std::shared_ptr<Library>& library) {
    return library->descriptor == descriptor;
  });
  if (at == libraries_.end())
    return nullptr;
  const std::shared_ptr<Library> gone = *at;
  gone->removed = true;
  libraries_.erase(at);
  forget_deferred_within(gone->object);
  for (const HostRange& global : gone->globals)
    forget_deferred_within(global);
  for (const HostEntry& entry : gone->entries->entries) {
    kernels_.erase(&entry);
    const auto known = kernels_.find(entry.address);
    if (known == kernels_.end())
      continue;
    // A running region keeps the old record; the index gets one without this library.
    auto rest = std::make_shared<Kernel>();
    rest->name = known->second->name;
    std::copy_if(known->second->owners.begin(), known->second->owners.end(), std::back_inserter(rest->owners),
                 [&](const Kernel::Owner& owner) { return owner.library != gone; });
    if (!rest->owners.empty()) {
      known->second = rest;
    } else {
      kernels_.erase(known);
      forget_deferred(entry.address);
    }
  }
  publish_kernels();
  return gone;
}

// Caller holds the lock. Devices count what they have done, so the place in line stays.
void Registry::forget_deferred(const void* host_address) {
  for (Deferred& work : deferred_)
    if (host_address && work.host_address == host_address && !kernels_.contains(host_address))
      work = {[](Device&) {}, nullptr};
}

// Caller holds the lock. A data call has no entry that names its library, only memory.
void Registry::forget_deferred_within(HostRange gone) {
  for (Deferred& work : deferred_)
    if (std::any_of(work.memory.begin(), work.memory.end(), [&](const HostRange& used) { return used.overlaps(gone); }))
      work = {[](Device&) {}, nullptr};
}

void Registry::unmap_globals(const Library& gone, Device& device) {
  for (const HostRange& global : gone.globals)
    device.data.unmap_global(global);
  for (const std::shared_ptr<Library>& library : libraries()) { // they may list the same variable
    std::vector<std::shared_ptr<LoadedImage>> images;
    {
      const std::shared_lock lock(mutex_);
      if (const auto there = library->on_device.find(device.number); there != library->on_device.end())
        images = there->second.images;
    }
    for (const std::shared_ptr<LoadedImage>& image : images)
      map_globals(*library, *image);
  }
}

std::vector<std::shared_ptr<Library>> Registry::libraries() {
  const std::shared_lock lock(mutex_);
  return libraries_;
}

void Registry::settle_now() {
  if (settling_here)
    return;
  const Settling here;
  open_plugins();
  while (Plugin* plugin = settle_known())
    plugin->device_count();
}

// Threads may each open them; the first list stays.
void Registry::open_plugins() {
  if (plugins_found_.load(std::memory_order_acquire))
    return;
  std::vector<std::unique_ptr<Plugin>> found = find_plugins();
  const std::lock_guard settling(settling_);
  if (plugins_found_)
    return;
  plugins_ = std::move(found);
  plugins_found_.store(true, std::memory_order_release);
}

// Takes in libraries up to one whose plugin has yet to count its devices: that plugin, or null at the end.
Plugin* Registry::settle_known() {
  const std::lock_guard settling(settling_);
  for (;;) {
    Registration next{};
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty()) {
        any_pending_ = false;
        return nullptr;
      }
      next = pending_.front();
      pending_.erase(pending_.begin());
      examined_ = next.descriptor;
    }
    const std::shared_ptr<Library> library = examine(next);
    if (!library)
      continue;
    if (Plugin* const plugin = uncounted(*library)) {
      const std::lock_guard lock(mutex_);
      if (examined_) // not unregistered in the meantime
        pending_.insert(pending_.begin(), next);
      examined_ = nullptr;
      return plugin;
    }
    for (const Library::Image& image : library->images)
      if (image.plugin)
        number_devices(*image.plugin);
    enlist(library);
  }
}

// A plugin that accepts an image but may be refused for its count of devices.
Plugin* Registry::uncounted(const Library& library) const {
  for (const Library::Image& image : library.images)
    if (image.plugin && !image.plugin->counted())
      return image.plugin;
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
  if (const char* fault = registration.read(registration.descriptor, contents)) {
    say("the descriptor at %p is ignored: %s", registration.descriptor, fault);
    return nullptr;
  }
  auto library = std::make_shared<Library>();
  library->descriptor = registration.descriptor;
  library->permanent = registration.permanent;
  library->object = registration.object;
  library->globals_required = contents.globals_required;
  library->host_memory = contents.host_memory;
  auto entries = std::make_shared<EntryTable>(std::move(contents.table));
  __tgt_offload_entry* const first = entries->records.data();
  __tgt_offload_entry* const last = first + entries->records.size();
  for (const HostEntry& entry : entries->entries)
    if (is_variable(entry) && entry.kind != EntryKind::kIndirect)
      library->globals.push_back(HostRange::of(entry.address, entry.size));
    else if (is_variable(entry))
      library->globals.push_back(HostRange::of(entry.address, entry.extent));
  library->entries = std::move(entries);
  for (const ImageBytes& bytes : contents.images) {
    __tgt_device_image image{bytes.begin, bytes.end, first, last};
    library->images.push_back({image, owner_of(image), bytes.without_environment});
  }
  return library;
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

Plugin* Registry::owner_of(__tgt_device_image& image) {
  for (const std::unique_ptr<Plugin>& plugin : plugins_)
    if (plugin->refusal().empty() && plugin->call().is_valid_binary(&image))
      return plugin.get();
  return nullptr;
}

void Registry::number_devices(Plugin& plugin) {
  const int known = device_count_;
  for (int i = 0; i < known; ++i)
    if (&devices_[static_cast<std::size_t>(i)].load()->plugin == &plugin)
      return;
  const int room = static_cast<int>(kMostDevices) - known;
  const int count = std::min(plugin.device_count(), room);
  for (int i = 0; i < count; ++i)
    devices_[static_cast<std::size_t>(known + i)].store(new Device(known + i, plugin, i), std::memory_order_release);
  device_count_.store(known + count, std::memory_order_release);
  ompt::count_devices(known + count);
}

// Caller holds the lock. Launches find what kernels_ holds now; what it held before goes when the
// launches that use it have ended.
void Registry::publish_kernels() {
  const std::shared_ptr<const KernelIndex> before = published_;
  published_ = std::make_shared<const KernelIndex>(kernels_);
  index_.store(published_.get(), std::memory_order_release);
  if (!before)
    return;
  retired_.add(before.get(), before);
  for (const std::shared_ptr<Kernel>& kernel : before->kernels())
    if (!std::binary_search(published_->kernels().begin(), published_->kernels().end(), kernel))
      retired_.add(kernel.get(), kernel);
}

void Registry::enlist(const std::shared_ptr<Library>& library) {
  const std::lock_guard lock(mutex_);
  if (!examined_)
    return;
  libraries_.push_back(library);
  for (std::size_t i = 0; i < library->entries->entries.size(); ++i) {
    const HostEntry& entry = library->entries->entries[i];
    if (!entry.address || entry.kind != EntryKind::kKernel)
      continue;
    // A fresh record, so that a region that is running keeps what it was resolved to.
    const std::shared_ptr<Kernel>& known = kernels_[entry.address];
    auto kernel = std::make_shared<Kernel>();
    if (known)
      kernel->owners = known->owners;
    kernel->name = name_of(entry);
    kernel->owners.push_back({library, i});
    kernels_[entry.address] = kernel;
    if (kernel->in_several_objects())
      list_apart(*kernel);
  }
  publish_kernels();
  generation_.fetch_add(1, std::memory_order_release);
}

// Each library's kernel also gets an address of its own, that of the entry. Caller holds the lock.
void Registry::list_apart(const Kernel& kernel) {
  for (const Kernel::Owner& owner : kernel.owners) {
    std::shared_ptr<Kernel>& own = kernels_[&owner.library->entries->entries[owner.index]];
    if (own)
      continue;
    own = std::make_shared<Kernel>();
    own->name = kernel.name;
    own->owners = {owner};
  }
  any_apart_.store(true, std::memory_order_release);
}

const void* Registry::meant_by(const void* host_address, const void* caller) {
  const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(caller);
  const std::shared_lock lock(mutex_);
  const auto known = kernels_.find(host_address);
  if (known == kernels_.end() || !known->second->in_several_objects())
    return host_address;
  for (const Kernel::Owner& owner : known->second->owners)
    if (owner.library->object.begin <= from && from < owner.library->object.end)
      return &owner.library->entries->entries[owner.index];
  return host_address;
}

// ---- devices ----

bool Registry::start(Device& device) {
  if (device.usable.load(std::memory_order_acquire))
    return true;
  ompt::connect();
  const std::lock_guard lock(device.preparing);
  const ompt::Private here; // what it does with device memory is no business of the program
  if (device.state != Device::State::kUntouched)
    return device.state == Device::State::kReady;
  if (device.plugin.call().init_device(device.rtl_id) != 0) {
    device.state = Device::State::kFailed;
    device.failure = device.describe() + " could not be initialised" + device.plugin.last_error();
    return false;
  }
  if (device.memory.shares_host_memory())
    device.data.share_host_memory();
  device.state = Device::State::kReady;
  device.usable.store(true, std::memory_order_release);
  ompt::device_initialized(device.number, device.plugin.name().c_str(), &device);
  return true;
}

bool Registry::prepare_now(Device& device) {
  if (device.prepared_for.load(std::memory_order_acquire) == generation_.load(std::memory_order_acquire) ||
      settling_here || Preparing::here(device))
    return device.usable.load(std::memory_order_acquire);
  const Preparing here(device);
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  const bool started = start(device);
  if (started)
    for (const std::shared_ptr<Library>& library : libraries())
      load(library, device);
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
  if (settling_here)
    return "there is no device: a plugin that is asked for its devices cannot use them";
  const std::lock_guard settling(settling_);
  if (plugins_.empty())
    return "there is no device: no plugin was found";
  for (const std::unique_ptr<Plugin>& plugin : plugins_)
    if (!plugin->refusal().empty())
      return "there is no device: plugin " + plugin->name() + " was refused: " + plugin->refusal();
  for (const std::shared_ptr<Library>& library : libraries())
    for (const Library::Image& image : library->images)
      if (image.plugin)
        return "there is no device: plugin " + image.plugin->name() + " has none";
  if (is_over())
    return "there is no device: every library has unregistered its images";
  std::string names;
  for (const std::unique_ptr<Plugin>& plugin : plugins_)
    names += (names.empty() ? "" : ", ") + plugin->name();
  return "there is no device: no plugin (" + names + ") accepts an image of this program";
}

// ---- images ----

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
  const std::unique_lock loading(device.loading, kPatience);
  if (is_loaded(*library, device))
    return;
  images = load_images(*library, device, failure);
  const std::lock_guard lock(device.preparing);
  if (!is_loaded(*library, device))
    publish(*library, device, images, std::move(failure));
}

// No lock is held: an image's constructors may call this library.
Registry::Images Registry::load_images(const Library& library, Device& device, std::string& failure) {
  Images images;
  for (const Library::Image& image : library.images) {
    if (image.plugin != &device.plugin)
      continue;
    auto loaded = std::make_shared<LoadedImage>(device, image.raw, library.entries);
    std::vector<char> bytes;
    if (!copy_bytes(library, loaded->image, bytes))
      return images;
    loaded->without_environment = image.without_environment;
    loaded->table = device.plugin.call().load_binary(device.rtl_id, &loaded->image);
    if (loaded->table)
      ompt::image_loaded(device.number, image.raw.ImageStart,
                         static_cast<std::size_t>(static_cast<const char*>(image.raw.ImageEnd) -
                                                  static_cast<const char*>(image.raw.ImageStart)));
    if (loaded->table)
      images.push_back(std::move(loaded));
    else if (failure.empty())
      failure = "its image could not be loaded on " + device.describe() + device.plugin.last_error();
  }
  return images;
}

// Gives the library the images that can be used, and leaves the others to be unloaded. Caller holds
// device.preparing, so that constructors run once and before any region.
void Registry::publish(Library& library, Device& device, Images& images, std::string failure) {
  Images complete;
  for (const std::shared_ptr<LoadedImage>& image : images) {
    std::string fault = second_copy(library, *image, complete);
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
      device.data.unmap_global(global);
}

// Why the image's kernels would see another variable than the host's: an image of the same library has
// it already, and a variable has one copy on a device. The end of a message, or "".
std::string Registry::second_copy(const Library& library, const LoadedImage& image, const Images& others) {
  const std::vector<HostEntry>& entries = library.entries->entries;
  if (!fits(*image.table, *library.entries))
    return {}; // adopt() says so
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_variable(entries[i]) ||
        (entries[i].kind != EntryKind::kGlobal && entries[i].kind != EntryKind::kOwnPointer))
      continue;
    const auto has = [&](const std::shared_ptr<LoadedImage>& other) { return other->table->EntriesBegin[i].addr; };
    if (image.table->EntriesBegin[i].addr && std::any_of(others.begin(), others.end(), has))
      return " (another image of this library has its global variable " + std::string(name_of(entries[i])) + ")";
  }
  return {};
}

// Makes a loaded image part of its device: variables are mapped, constructors run. Returns what it
// lacks, as the end of a message, or "".
std::string Registry::adopt(const Library& library, LoadedImage& image) {
  const std::vector<HostEntry>& entries = library.entries->entries;
  if (!fits(*image.table, *library.entries))
    return " (its entry table has another length)";
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (library.globals_required && is_variable(entries[i]) && !image.table->EntriesBegin[i].addr)
      return " (it lacks the global variable " + std::string(name_of(entries[i])) + ")";
  if (library.host_memory)
    image.device.data.share_host_memory();
  map_globals(library, image);
  if (const std::string failed = image.run_all(EntryKind::kConstructor); !failed.empty()) {
    const std::string why = image.device.plugin.last_error();
    unmap_globals(library, image.device);
    return " (its constructor " + failed + " could not run" + why + ")";
  }
  image.constructed = true;
  return {};
}

void Registry::map_globals(const Library& library, const LoadedImage& image) {
  for (std::size_t i = 0; i < library.entries->entries.size(); ++i) {
    const HostEntry& entry = library.entries->entries[i];
    void* const there = image.table->EntriesBegin[i].addr;
    // Another library may have mapped the same variable: it has one copy on each device.
    if (is_variable(entry) && there && entry.kind == EntryKind::kGlobal)
      image.device.data.map_global(HostRange::of(entry.address, entry.size), there, name_of(entry), Sync::kCopied);
    else if (is_variable(entry) && there)
      map_reference(entry, there, image);
  }
}

// Maps an entry whose host memory is never copied as it is.
void Registry::map_reference(const HostEntry& entry, void* there, const LoadedImage& image) {
  const DeviceMemory& memory = image.device.memory;
  HostRange host = HostRange::of(entry.address, entry.size);
  if (entry.kind == EntryKind::kHostPointer && !memory.submit(there, entry.address, entry.size))
    say("%s did not take the value of %s%s", image.device.describe().c_str(), name_of(entry),
        memory.last_error().c_str());
  if (entry.kind == EntryKind::kIndirect) {
    host = HostRange::of(entry.address, entry.extent);
    if (!memory.retrieve(&there, there, sizeof there) || !there)
      return; // calls through it run the host's function
  }
  image.device.data.map_global(host, there, name_of(entry), Sync::kNever);
}

// ---- kernels ----

std::shared_ptr<Kernel> Registry::find_kernel(const void* host_address) {
  settle();
  const std::shared_lock lock(mutex_);
  const auto at = kernels_.find(host_address);
  return at == kernels_.end() ? nullptr : at->second;
}

void KernelUse::find_nested(const void* host_address) {
  nested_ = registry_.find_kernel(host_address);
  kernel_ = nested_.get();
}

// Finds it and remembers it.
Resolved Registry::find_on(const Kernel* sought, Device& device) {
  if (!sought)
    return {nullptr, nullptr, "no registered library lists it"};
  const Kernel& kernel = *sought;
  const std::lock_guard lock(mutex_);
  Resolved found;
  Kernel::Loaded loaded = search(kernel, device, found.reason);
  if (!loaded.function)
    return found;
  found.function = loaded.function;
  found.image = loaded.image.get();
  for (const Kernel::Owner& owner : kernel.owners)
    if (const auto there = owner.library->on_device.find(device.number); there != owner.library->on_device.end())
      there->second.used = true;
  loaded.next = kernel.loaded.load(std::memory_order_relaxed);
  kernel.kept.push_back(std::make_unique<const Kernel::Loaded>(std::move(loaded)));
  kernel.loaded.store(kernel.kept.back().get(), std::memory_order_release);
  return found;
}

// Caller holds the lock.
Kernel::Loaded Registry::search(const Kernel& kernel, Device& device, std::string& reason) {
  reason = kernel.ambiguity();
  if (!reason.empty())
    return {};
  bool any_image = false;
  for (const Kernel::Owner& owner : kernel.owners) {
    const auto at = owner.library->on_device.find(device.number);
    if (at == owner.library->on_device.end())
      continue;
    const LibraryOnDevice& there = at->second;
    if (!there.failure.empty() && reason.empty())
      reason = there.failure;
    if (there.unusable)
      continue;
    for (const std::shared_ptr<LoadedImage>& image : there.images) {
      any_image = true;
      if (void* function = image->table->EntriesBegin[owner.index].addr)
        return {device.number, function, image, nullptr};
    }
  }
  if (reason.empty())
    reason =
        any_image ? "the image for " + device.describe() + " lacks it" : "there is no image for " + device.describe();
  return {};
}

std::vector<Device*> Registry::used_devices(const void* host_address) {
  const std::shared_ptr<Kernel> kernel = host_address ? find_kernel(host_address) : nullptr;
  std::vector<Device*> used;
  const std::shared_lock lock(mutex_);
  for (int number = 0; number < device_count_; ++number) {
    const auto uses = [&](const std::shared_ptr<Library>& library) {
      const auto there = library->on_device.find(number);
      return there != library->on_device.end() && there->second.used;
    };
    const bool any = kernel ? std::any_of(kernel->owners.begin(), kernel->owners.end(),
                                          [&](const Kernel::Owner& owner) { return uses(owner.library); })
                            : !host_address && std::any_of(libraries_.begin(), libraries_.end(), uses);
    if (any)
      used.push_back(device(number));
  }
  return used;
}

// ---- deferred work ----

void Registry::defer(Deferred work) {
  const std::lock_guard lock(mutex_);
  deferred_.push_back(std::move(work));
  generation_.fetch_add(1, std::memory_order_release);
}

// Caller holds device.preparing, so that no region runs before the constructors have.
void Registry::run_deferred(Device& device) {
  for (;;) {
    Deferred next;
    {
      const std::shared_lock lock(mutex_);
      if (device.deferred_done >= deferred_.size())
        return;
      next = deferred_[device.deferred_done++];
    }
    next.run(device);
  }
}

void Registry::mark_unusable(const Kernel& kernel, Device& device, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (const Kernel::Owner& owner : kernel.owners) {
    const auto there = owner.library->on_device.find(device.number);
    if (there == owner.library->on_device.end())
      continue;
    there->second.unusable = true;
    there->second.failure = reason;
    for (auto& [address, other] : kernels_)
      if (std::any_of(other->owners.begin(), other->owners.end(),
                      [&](const Kernel::Owner& its) { return its.library == owner.library; }))
        other->loaded.store(nullptr, std::memory_order_release);
  }
}

} // namespace omptool
