// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of one device: what a construct maps, unmaps and copies, and how that stays right when a
// region runs on the host after all (decisions 1, 2, 7 and 8).
//
// Threads: the lock is held while the table is read or changed, never across a copy. A call that
// creates objects fills and publishes its own before it waits for another call's, and a call that
// drops objects waits for nothing once it has marked them, so no two calls wait for each other.
#pragma once

#include "mapping_table.h"
#include "row.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <string>

namespace omptool {

// What one row of a running call refers to; holds the objects in place until the call is over.
struct Binding {
  std::shared_ptr<Mapping> object; // what begin and size name; null: not present
  std::shared_ptr<Mapping> cell;   // of a kPointer row: what holds the pointer
  bool object_fresh = false;       // created by this call
  bool cell_fresh = false;
  bool refused = false;      // the device did not take what this call owes to the object
  bool cell_refused = false; // or to the cell
  bool leaving = false;      // released by this call
  bool host_current = false; // at the time the call began to copy
};
using Bindings = PerRow<Binding>;

enum class Purpose { kData, kRegion };
enum class Release { kNormal, kAbandoned };
// Whether the two sides of a global variable hold the same thing.
enum class Sync { kCopied, kNever };

class DataEnvironment {
public:
  explicit DataEnvironment(const DeviceMemory& memory) : memory_(memory) {}

  // Host addresses are device addresses: only global variables and associated pointers are mapped.
  void share_host_memory() { shared_.store(true, std::memory_order_relaxed); }
  bool shares_host_memory() const { return shared_.load(std::memory_order_relaxed); }

  // Maps the rows. Returns why the device cannot hold them all, or "". After a failure the rows are
  // still to be released, and regions that name an object without a device copy run on the host.
  std::string begin(Rows rows, Bindings& bound, Purpose purpose);
  // Unmaps what begin() bound. kAbandoned: no region has run, nothing is copied back.
  // `region` names the region that has run, for the message of a failure.
  void end(Rows rows, Bindings& bound, Release release, const char* region = nullptr);
  // Unmaps rows that an earlier call mapped.
  void end(Rows rows);
  // Copies the rows' ranges of present objects.
  void update(Rows rows);

  // The kernel's argument for a kArgument row that is not private.
  void* argument(const Row& row, const Binding& binding) const;

  // What a device's copy of the pointer of a kAttach row holds; null: the pointee is not present.
  void* pointee(const Row& row, const Binding& binding) const;

  // Some object is newer on the host than here, or has no usable copy here.
  bool any_host_current() const { return host_current_count_.load(std::memory_order_relaxed) != 0; }
  // A region is about to run: the device gets what the host computed in a region that fell back.
  // Returns which object could not be copied, or "".
  std::string make_device_current(Rows rows, std::span<const HostRange> globals);
  // The same for device memory that a copy by address is about to read or to write in part.
  std::string make_device_current(const void* device, std::size_t size);
  // A region is about to run on the host instead: the host gets what the device computed. Ends the
  // program when an object cannot be copied, or is used by a device address that the host cannot use.
  // Afterwards kDelete rows are unmapped.
  void make_host_current(Rows rows, std::span<const HostRange> globals, const std::string& region);

  // The device may have written to its memory: a kernel or a copy by address.
  void note_activity() { activity_.fetch_add(1, std::memory_order_relaxed); }

  // Mappings that no construct counts. False: something else is mapped there.
  bool map_global(HostRange host, void* device, const std::string& name, Sync sync);
  void unmap_global(HostRange host);
  bool associate(HostRange host, void* device);
  bool disassociate(const void* host);
  bool is_present(const void* host);
  // Device memory of the program's own, which no host memory stands for.
  void* allocate(std::size_t size);
  bool release(void* memory);
  // Where the device has what is at `host`, or null.
  void* device_address(const void* host);
  // What is mapped now, by address.
  std::vector<std::shared_ptr<const Mapping>> objects();

private:
  using Lock = std::unique_lock<std::mutex>;
  using Mappings = std::vector<std::shared_ptr<Mapping>>;
  enum class Direction { kToDevice, kToHost };

  Lookup look_up(HostRange wanted, Lock& lock);
  std::shared_ptr<Mapping> look_up_empty(const Row& row, Lock& lock);
  std::shared_ptr<Mapping> find_for(const Row& row, HostRange wanted, Lock& lock);
  std::shared_ptr<Mapping> find_known(const Row& row, HostRange wanted, Lock& lock, const char* modifier);
  std::shared_ptr<Mapping> obtain(const Row& row, HostRange wanted, const void* call, Lock& lock,
                                  std::ptrdiff_t padding = 0);

  void bind_counted(Rows rows, std::size_t index, Binding& binding, const void* call, Lock& lock);
  void bind_uncounted(const Row& row, Binding& binding, const void* call, Lock& lock);
  void bind_attached(const Row& row, Binding& binding, const void* call, Lock& lock);
  void bind_released(const Row& row, Binding& binding, Lock& lock);
  void note_parts(Rows rows, std::size_t index, Bindings& bound);

  void copy_in(const Row& row, Binding& binding);
  bool attach(const Row& row, Binding& binding);
  bool attach_later(const Row& row, Binding& binding);
  void publish(Bindings& bound);
  std::string not_there(const Mapping& mapping) const;
  std::string fault(Bindings& bound);
  bool refresh(Rows rows, Bindings& bound, Purpose purpose);
  void return_pointers(Rows rows, Bindings& bound);
  void note_written(Mapping* mapping);
  bool is_usable(const Mapping& mapping);

  void drop(const Row& row, Binding& binding, Release release);
  bool copy(Direction direction, const Mapping& mapping, HostRange range, std::span<const HostRange> except = {});
  bool copy_whole(Direction direction, const Mapping& mapping, std::span<const HostRange> except);
  Mappings named(Rows rows, std::span<const HostRange> globals, Lock& lock);
  Mappings named_by_device_address(Rows rows) const;
  void keep_on_device(Rows rows, const std::string& region);
  bool is_out_of_reach(std::uintptr_t address);
  std::string submit_host_current(Mappings stale);
  bool needs_retrieval(Mapping& mapping);
  void set_host_current(Mapping& mapping, bool value);
  void set_unusable(Mapping& mapping);
  void erase(Mapping& mapping);
  void forget_deleted(Rows rows);
  bool insert_infinite(HostRange host, void* device, const std::string& name, Sync sync);

  const DeviceMemory& memory_;
  std::atomic<bool> shared_{false};
  std::mutex mutex_;
  std::condition_variable changed_; // an object became ready or left
  std::mutex moving_;               // held while objects become newer on one side; taken before mutex_
  MappingTable table_;
  std::map<std::uintptr_t, std::size_t> allocations_; // by address; only where the host cannot use them
  std::atomic<std::int64_t> host_current_count_{0};
  std::atomic<std::uint64_t> activity_{0};
};

} // namespace omptool
