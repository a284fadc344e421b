// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows what is registered and which devices there are. Registering only notes a descriptor; the first call that needs
// to know asks the plugins which images they accept and numbers their devices, and the first call that uses a device
// initialises it and loads its images. registry.cpp keeps the lists; resolver.cpp takes in what has registered,
// loader.cpp gets devices ready and loads images.
#pragma once

#include "devices/kernels.h"
#include "process/per_process.h"

#include <functional>
#include <optional>
#include <set>
#include <shared_mutex>
#include <unordered_map>

namespace omptool {

// Work for every device, done when a device is first used (device number -2).
struct Deferred {
  std::function<void(Device&)> run;
  const void* host_address = nullptr; // of a region; null for data
  std::vector<HostRange> memory = {}; // that it uses: gone with the library that it is part of
};

class Registry {
public:
  // The registry of this process, or null before the first registration and after fork().
  static Registry* current() noexcept { return PerProcess<Registry>::known(); }
  // Makes one where there is none.
  static Registry& obtain() { return PerProcess<Registry>::get(); }
  // The parent's, where the process is a child of fork() and nothing has registered anew; else null. Nobody but this
  // process looks into what it got, and it has no other thread that would change it.
  static Registry* lost() noexcept { return current() ? nullptr : PerProcess<Registry>::parents(); }
  Registry() { request_barriers(); }

  // `read` says what is at the address; called when a device is first needed, from any thread, until
  // remove() has returned.
  void add(const void* descriptor, LibraryReader read);
  void remove(const void* descriptor);
  // A library that the address is part of has registered, and may have unregistered again.
  bool has_known(const void* address);
  // Nothing else is registered.
  bool is_last(const void* descriptor);

  // Gives the devices of all plugins numbers, whether or not a library has images for them; after fork() too.
  void number_all();
  int device_count() {
    resolve_pending();
    return device_count_.load(std::memory_order_acquire);
  }
  // Null when there is no such number.
  Device* device(int number) {
    if (number < 0 || number >= device_count_.load(std::memory_order_acquire))
      return nullptr;
    return devices_[static_cast<std::size_t>(number)].load(std::memory_order_acquire);
  }
  // Initialises the device. False: it cannot be used, see reason_of().
  bool start(Device& device);
  // Also loads the images of every library and runs deferred work.
  bool prepare(Device& device) {
    resolve_pending();
    return is_prepared(device) || prepare_now(device);
  }
  // Nothing is left to do.
  bool is_prepared(const Device& device) const {
    return !any_pending_.load(std::memory_order_acquire) &&
           device.prepared_for.load(std::memory_order_acquire) == generation_.load(std::memory_order_acquire);
  }
  std::string reason_of(Device& device);
  // Every library that registered is gone: the program is ending, or has unloaded all of them.
  bool is_over();
  // Returns which plugin cannot have devices that the user asked for, and why, or "".
  std::string failed_plugin() const;
  // Returns why there is no device at all.
  std::string reason_for_none();

  // Returns the kernel for a call with this environment, or why it is not there: also where the image's kernels cannot
  // be called so.
  Resolved resolve(const Kernel* kernel, Device& device, EnvironmentPlace environment, std::string& reason) {
    const Kernel::Loaded* const found = find_on(kernel, device, reason);
    if (!found)
      return {};
    const Passing how = found->image->passing(environment);
    if (how == Passing::kNever) [[unlikely]] {
      reason = found->image->disagreement(environment);
      return {};
    }
    return {found->function, {for_kernel(how, found->takes_shape), found->takes_shape, found->image->names_dimensions}};
  }
  // Returns the kernel on the device; null, and why, if it is not there.
  const Kernel::Loaded* find_on(const Kernel* kernel, Device& device, std::string& reason) {
    const Kernel::Loaded* const known = kernel ? kernel->on(device.number) : nullptr;
    return known ? known : look_for(kernel, device, reason);
  }
  // An address that stands for the kernel of the caller's own executable or library, where several have a
  // kernel of one name.
  const void* meant_by(const void* host_address, const void* caller) {
    if (!kernels_.any_apart()) [[likely]]
      return host_address;
    const std::shared_lock lock(mutex_);
    return kernels_.meant_by(host_address, caller);
  }
  // Null: no library that has been examined has it. For who need not lock.
  const Kernel* find_published(const void* host_address) const {
    return kernels_.published().load()->find(host_address).get();
  }
  // The kernel alone: its name and its library.
  std::shared_ptr<Kernel> find_kernel(const void* host_address);
  // Returns what is known of the images of the executable or library around the address, as far as it is the same of
  // all.
  ImageOrigin images_at(const void* address);
  // The devices that the owners of the address have used; all that anybody used for null.
  std::vector<Device*> used_devices(const void* host_address);

  void defer(Deferred work);
  // A constructor could not run: the regions of its library do not run on this device.
  void mark_unusable(const Kernel& kernel, Device& device, const std::string& reason);

private:
  friend class KernelUse;
  static inline constinit std::atomic<bool> numbers_all{false}; // see number_all()
  static constexpr std::size_t kMostDevices = 4096;
  // Says what the calling thread is asking or preparing, innermost first: a registry's plugins, or a device. The core
  // answers what they, their drivers or their images' constructors ask in turn from what is known.
  struct Busy {
    static inline thread_local constinit const Busy* innermost [[gnu::tls_model("initial-exec")]] = nullptr;
    const void* const with;
    const Busy* const outer = std::exchange(innermost, this);
    ~Busy() { innermost = outer; }
    static bool is_with(const void* what) {
      const Busy* one = innermost;
      while (one && one->with != what)
        one = one->outer;
      return one != nullptr;
    }
  };
  using Images = std::vector<std::shared_ptr<LoadedImage>>;

  std::shared_ptr<Library> unlist(const void* descriptor);
  void forget_deferred(HostRange object, const EntryTable& table);

  // Takes in what has registered since the last call, in order.
  void resolve_pending() {
    if (any_pending_.load(std::memory_order_acquire)) [[unlikely]]
      resolve_registrations();
  }
  void resolve_registrations();
  void open_rtls();
  void number_devices(Rtl& rtl);
  std::shared_ptr<Library> next_pending();
  std::optional<LibraryContents> examine(const Library& library);
  void ignore(const Library& library, const std::string& ignored);
  bool find_owners(const Library& library, const LibraryContents& contents, RegisteredImage& image);
  std::vector<Rtl*> take_in_if_counted(const std::shared_ptr<Library>& library);
  bool is_pending(const Library& library);
  void take_in(const std::shared_ptr<Library>& library, LibraryContents contents);
  void enlist(const std::shared_ptr<Library>& library, LibraryContents contents);

  bool prepare_now(Device& device);
  void run_deferred(Device& device);
  std::shared_ptr<Library> next_to_load(Device& device);
  std::string initialise(Device& device);
  int peers_of(const Device& device) const;
  bool load(const std::shared_ptr<Library>& library, Device& device);
  bool is_loaded(const Library& library, const Device& device);
  Images load_images(const std::shared_ptr<Library>& library, Device& device, std::string& failure);
  void publish(Library& library, Device& device, const Images& images, std::string failure);
  std::string adopt(LoadedImage& image, const Images& others);
  void unmap_globals(const Library& gone, Device& device);

  const Kernel::Loaded* look_for(const Kernel* kernel, Device& device, std::string& reason);

  // The turn to examine libraries, so that threads that come at once don't each do it.
  std::timed_mutex examining_;
  // Held while devices get their numbers and a library enters the lists.
  std::mutex resolving_;
  std::vector<std::unique_ptr<Rtl>> rtls_; // under the lock until rtls_found_
  std::atomic<bool> rtls_found_{false};
  std::set<const Rtl*> numbered_;
  std::array<std::atomic<Device*>, kMostDevices> devices_{};
  std::atomic<int> device_count_{0};

  // Held while a library's own memory is read, and taken by the call that unregisters it.
  std::mutex reading_;

  std::shared_mutex mutex_; // the members below; held briefly
  std::uint64_t last_number_ = 0;
  std::uint64_t examined_up_to_ = 0;                            // the number of a library; the later ones are pending
  std::map<std::uint64_t, std::shared_ptr<Library>> libraries_; // by number
  std::unordered_multimap<const void*, std::shared_ptr<Library>> registered_; // by their descriptors
  std::map<std::uintptr_t, std::uintptr_t> objects_; // begins and ends of executables and libraries that registered
  std::multimap<std::uintptr_t, LibraryEntry> variables_; // by address
  std::string ignored_;                                   // the first library whose images are ignored, and why
  std::vector<Deferred> deferred_; // each device counts what it has done, so that all keep their places
  std::atomic<bool> any_pending_{false};
  std::atomic<std::uint64_t> generation_{1};

  KernelTable kernels_;
};

// The kernel at a host address, kept from being freed, and its images from being unloaded, while this
// lives: for the length of a launch.
class KernelUse {
public:
  KernelUse(Registry& registry, const void* host_address) : registry_(registry), mine_(my_hazard_pointer()) {
    // Locals stay in registers; a store to a hazard pointer could change a member, for all that the compiler knows.
    const std::atomic<const KernelIndex*>& published = registry.kernels_.published();
    HazardPointer& mine = mine_;
    const KernelIndex* index = nullptr;
    do {
      index = published.load(std::memory_order_acquire);
      mine.index.store(index, std::memory_order_release);
      light_barrier(); // pairs with Retired::collect()'s
    } while (published.load(std::memory_order_acquire) != index);
    const std::shared_ptr<Kernel>& found = index->find(host_address);
    const Kernel* const kernel = found.get();
    if (mine.record.load(std::memory_order_relaxed)) [[unlikely]]
      nested_ = found;
    else
      mine.record.store(kernel, std::memory_order_release);
    mine.index.store(nullptr, std::memory_order_release);
    kernel_ = kernel;
  }
  ~KernelUse() {
    if (nested_ || !kernel_) [[unlikely]]
      return;
    mine_.record.store(nullptr, std::memory_order_release);
    light_barrier(); // collect() sees that, or this that something was retired before it
    // The child of a kernel that forked does not know who holds what.
    if (registry_.kernels_.retired().any() && Registry::current() == &registry_) [[unlikely]]
      registry_.kernels_.retired().collect();
  }
  KernelUse(const KernelUse&) = delete;
  KernelUse& operator=(const KernelUse&) = delete;
  const Kernel* get() const { return kernel_; } // null: no registered library has the address

private:
  Registry& registry_;
  HazardPointer& mine_;
  const Kernel* kernel_ = nullptr;
  std::shared_ptr<Kernel> nested_; // of a launch from inside a kernel: the thread's hazard pointer is in use
};

} // namespace omptool
