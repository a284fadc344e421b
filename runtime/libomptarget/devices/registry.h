// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registry of libraries and devices. Registering only notes a descriptor. The first call that needs devices asks the
// plugins which images they accept, and numbers their devices; the first call that uses a device initialises it and
// loads its images. libraries.h has the lists, device_numbers.h the plugins and devices, resolver.h examines registered
// libraries, loader.h prepares devices.
#pragma once

#include "devices/loader.h"
#include "devices/resolver.h"
#include "process/per_process.h"

namespace omptool {

class Registry {
public:
  // The registry of this process, or null before the first registration and after fork().
  static Registry* current() noexcept { return PerProcess<Registry>::known(); }
  // Obtains the registry, and makes it if there is none.
  static Registry& obtain() { return PerProcess<Registry>::get(); }
  // Lost registry of the parent process, in a child of fork() that has registered nothing; else null. No other process
  // or thread changes it.
  static Registry* lost() noexcept { return current() ? nullptr : PerProcess<Registry>::parents(); }
  Registry() { request_barriers(); }

  // Adds a library. `read` reads the contents at the address, when a device is first needed, on any thread, until
  // remove() has returned.
  void add(const void* descriptor, LibraryReader read);
  void remove(const void* descriptor);
  bool has_known(const void* address) { return libraries_.has_known(address); }
  bool is_last(const void* descriptor) { return libraries_.is_last(descriptor); }
  bool is_over() { return libraries_.is_over(); }

  void number_all() { resolver_.number_all(); }
  int device_count() {
    resolver_.resolve_pending();
    return numbers_.count();
  }
  // Returns null if no device has the number.
  Device* device(int number) const { return numbers_.device(number); }
  std::string reason_for_none() { return resolver_.reason_for_none(); }

  // Initialises the device. Returns false if it cannot be used, see reason_of().
  bool start(Device& device) { return loader_.start(device); }
  // Prepares the device: starts it, loads the images of every library and runs deferred work.
  bool prepare(Device& device) {
    resolver_.resolve_pending();
    return is_prepared(device) || loader_.prepare(device);
  }
  bool is_prepared(const Device& device) const { return loader_.is_prepared(device); }
  std::string reason_of(Device& device) const { return loader_.reason_of(device); }
  void defer(Deferred work) {
    deferred_.add(std::move(work));
    libraries_.note_change();
  }

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
  // Returns an address that stands for the kernel of the caller's own executable or library, where several have a
  // kernel of one name.
  const void* meant_by(const void* host_address, const void* caller) {
    if (!kernels_.any_shared_name()) [[likely]]
      return host_address;
    return kernels_.meant_by(host_address, caller);
  }
  // Returns null if no library that has been examined has it. For callers that must not lock.
  const Kernel* find_published(const void* host_address) const {
    return kernels_.published().load()->find(host_address).get();
  }
  // Returns the kernel alone: its name and its library.
  std::shared_ptr<Kernel> find_kernel(const void* host_address);
  void mark_unusable(const Kernel& kernel, const Device& device, const std::string& reason) {
    kernels_.mark_unusable(kernel, device.number, reason);
  }
  // Returns what is known of the images of the executable or library around the address, as far as it is the same of
  // all.
  ImageOrigin images_at(const void* address);
  // Returns the devices that the owners of the address have used; all that anybody used for null.
  std::vector<Device*> used_devices(const void* host_address);

private:
  friend class KernelUse;

  const Kernel::Loaded* look_for(const Kernel* kernel, Device& device, std::string& reason);

  DeferredWork deferred_;
  KernelTable kernels_;
  Libraries libraries_{kernels_, deferred_};
  DeviceNumbers numbers_;
  Resolver resolver_{libraries_, numbers_};
  Loader loader_{libraries_, numbers_, deferred_};
};

// The kernel at a host address, kept from being freed, and its images from being unloaded, while this
// lives: for the length of a launch.
class KernelUse {
public:
  KernelUse(Registry& registry, const void* host_address) : registry_(registry), mine_(my_hazard_pointer()) {
    // Published index, in a local variable, which stays in a register: the compiler must assume that a store to a
    // hazard pointer changes members.
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
    // Skips retired items in the child of a kernel that forked: the child cannot see which are in use.
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
