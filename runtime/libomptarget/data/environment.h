// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of one device: what a construct maps, unmaps and copies, and how that stays right when a
// region runs on the host after all (decisions 1, 2, 7 and 8).
//
// Threads: what changes of an object is guarded by the lock of its shard of the index, the table by a
// lock of its own, which is taken before any shard's. None is held across a copy, but of a few bytes
// that the thread moves itself, and a call without the table's lock holds one shard's at a time. A call
// that creates objects fills and publishes its own before it waits for another call's, and a call that
// drops objects waits for nothing once it has marked them, so no two calls wait for each other.
//
// Most calls name objects by where they begin, and find them there: they need the index alone
// (by_beginning.cpp). All others go through the table: environment.cpp finds objects, begin.cpp and end.cpp
// are the two ends of a construct, order.cpp is its place among the others, attached_pointers.cpp attaches
// pointers, copies.cpp moves bytes, fallback.cpp is about regions that run on the host, diverged.cpp about
// what they and kernels change meanwhile, globals.cpp about objects that no construct counts.
#pragma once

#include "data/row.h"
#include "data/table/mapped_regions.h"
#include "data/table/mapping_table.h"
#include "data/table/object_index.h"
#include "observe/sink.h"
#include "process/per_row.h"
#include "rtl/command_list.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <string>

namespace omptool {

// What one row of a running call refers to; holds the objects in place until the call is over.
struct Binding {
  MappingPtr object;         // what begin and size name; null: not present
  MappingPtr cell;           // of a kPointer row: what holds the pointer
  void* pointer = nullptr;   // of a kPointer or kAttach row: what it held when the call was made
  bool object_fresh = false; // created by this call
  bool cell_fresh = false;
  bool refused = false;      // the device did not take what this call owes to the object
  bool cell_refused = false; // or to the cell
  bool leaving = false;      // released by this call
  bool host_current = false; // at the time the call began to copy
};
using Bindings = PerRow<Binding>;

// What a construct holds of a device's data, from its place among the others to the end of its operations.
struct Held {
  explicit Held(std::size_t rows) : bound(rows) {}
  Bindings bound;
  bool all_there = true;           // nothing to create, to wait for or to complain about
  bool leaves_events = false;      // its operations may go on while other constructs take their places
  bool departs = false;            // some of what leaves is on the list of departures
  std::vector<MappingPtr> leaving; // by it; what departs is gone from the table already
  std::vector<MappingPtr> stale;   // what a kernel may read that is newer on the host, or that the device has not
  std::vector<EventPtr> over;      // events that others have taken the place of
};

// The same for a call whose objects are all known by their beginning.
struct KnownObject {
  Mapping* object = nullptr; // pinned; null: a value
  bool fresh = false;
  bool leaving = false;      // released by this call
  bool host_current = false; // at the time the call began to copy
  bool plain = false;        // copies need no look at attached pointers
};
using KnownObjects = PerRow<KnownObject>;

enum class Purpose { kData, kRegion };
enum class Release { kNormal, kAbandoned };
// Whether the two sides of a global variable hold the same thing.
enum class Sync { kCopied, kNever };

// What is mapped, as it was when somebody asked.
struct MappedObject {
  HostRange host;
  std::byte* device;
  std::int64_t references, holds;
  bool infinite;
  std::string name;
};

class DataEnvironment {
public:
  explicit DataEnvironment(const DeviceMemory& memory) : memory_(memory) {}

  // Host addresses are device addresses: only global variables, associated pointers and what is to be close
  // are mapped. kOnly: the device has no other memory, and nothing can be close.
  enum class Sharing : std::uint8_t { kNone, kRequired, kOnly };
  void share_host_memory(Sharing how) { sharing_.store(std::max(sharing(), how), std::memory_order_relaxed); }
  bool shares_host_memory() const { return sharing() != Sharing::kNone; }

  // A construct, in its steps. First its place among all constructs on the device (decision 24): its objects are
  // found or made and counted, and the queue comes after what they wait for. kThrough: they are released in the same
  // step, so that it is settled what is copied back. Then memory is allocated.
  enum class Passage { kIn, kThrough };
  // A region's kernel may also use `globals`.
  void take_position(Rows rows, Held& held, Purpose purpose, Passage passage, CommandList& commands,
                     const char* region = nullptr, std::span<const HostRange> globals = {});
  // Queues the copies to the device. Returns why the device cannot hold all rows, or "". After a failure the rows
  // are still to be released, and regions that name an object without a device copy run on the host.
  std::string copy_in(Rows rows, Held& held, Purpose purpose, CommandList& commands);
  // Once it has its place: which object the device has no memory for, or "".
  std::string lacks(Held& held);
  // Stores device addresses for kReturn, where the memory is there.
  void return_pointers(Rows rows, Held& held);
  // Releases the rows. kAbandoned: no region has run, nothing is copied back but what other constructs have left.
  // `region` names the region that has run, for the message of a failure.
  void release_position(Rows rows, Held& held, Release release, CommandList& commands, const char* region = nullptr);
  // Queues the copies back. A failure ends the program.
  void copy_back(Rows rows, Held& held, Release release, CommandList& commands, const char* region = nullptr);
  // All that was queued has ended; "" or why it failed. No lock may be held.
  void finish(Held& held, CommandList& commands, const std::string& failure = {});
  // The same of a construct that has only copied to the device: what it created is then for the host alone. Returns
  // which object the device has not, or "".
  std::string finish_begin(Rows rows, Held& held, CommandList& commands, const std::string& failure);

  // Maps the rows. Returns why the device cannot hold them all, or "".
  std::string begin(Rows rows);
  // Unmaps rows that an earlier call mapped.
  void end(Rows rows);
  // Finds what rows that an earlier call mapped refer to, and takes the place of a construct that releases them.
  void take_leave(Rows rows, Held& held, CommandList& commands);
  // Copies the rows' ranges of present objects.
  void update(Rows rows);
  // The same in steps: the place, then the copies, of which a failure ends the program.
  void take_position_of_update(Rows rows, Held& held, CommandList& commands);
  void queue_update(Rows rows, Held& held, CommandList& commands);

  // The kernel's argument for a kArgument row that is not private.
  void* argument(const Row& row, const Binding& binding) const;

  // What a device's copy of the pointer of a kAttach row holds; null: the pointee is not present.
  void* pointee(const Row& row, const Binding& binding) const;

  // Some object is newer on the host than here, or has no usable copy here.
  bool any_host_current() const { return host_current_count_.load(std::memory_order_relaxed) != 0; }
  // A region is about to run: the device gets what the host computed in regions that fell back before it took its
  // place. Returns which object could not be copied, or "".
  std::string make_device_current(Held& held);
  // The same for device memory that a copy by address is about to read or to write in part.
  std::string make_device_current(const void* device, std::size_t size);
  // A region is about to run on the host instead: the host gets what the device computed. Ends the
  // program when an object cannot be copied. Afterwards kDelete rows are unmapped. Returns what is to be
  // said of arguments that may be memory of the device, which the host cannot use, or "".
  std::string make_host_current(Rows rows, std::span<const HostRange> globals, const std::string& region);

  // The device may have written to its memory: a kernel or a copy by address. Returns what take_back_activity()
  // is to be told.
  std::uint64_t note_activity() {
    std::uint64_t now = activity_.load(std::memory_order_relaxed);
    while (now % 4 != 0) {
      const std::uint64_t noted = now % 4 == 1 ? now + 1 : now + 2;
      if (activity_.compare_exchange_weak(now, noted, std::memory_order_relaxed))
        return noted;
    }
    return now;
  }
  // It has not written, after all: the kernel was not started. Stays noted where others have relied on it.
  void take_back_activity(std::uint64_t noted) {
    if (noted % 4 == 2)
      activity_.compare_exchange_strong(noted, noted - 1, std::memory_order_relaxed);
  }

  // Mappings that no construct counts. False: something else is mapped there.
  bool map_global(HostRange host, void* device, const std::string& name, Sync sync);
  // Returns what was mapped there, or nothing.
  HostRange unmap_global(HostRange host);
  bool associate(HostRange host, void* device);
  enum class Disassociation { kDone, kHeld, kNothingThere };
  Disassociation disassociate(const void* host);
  bool is_present(const void* host);
  // Device memory of the program's own, which no host memory stands for.
  void* allocate(std::size_t size);
  bool release(void* memory);
  // Where the device has what is at `host`, or null.
  void* device_address(const void* host);
  // What is mapped now, by address.
  std::vector<MappedObject> objects();

  // The common case: each row is a value, or an object by its beginning that needs no more than a count
  // and a copy. begin_known() counts references and fills what is new. False: it is not that case, and
  // the caller uses begin(), which counts again, and then gives up with end_known() whatever `bound` holds.
  [[gnu::hot]] bool begin_known(Rows rows, KnownObjects& bound);
  [[gnu::hot]] void end_known(Rows rows, KnownObjects& bound, Release release, const std::string& region);
  void* known_argument(const Row& row, const KnownObject& known) const;
  // As above, without a region. pin_known() counts nothing: its objects can be ended or let go.
  [[gnu::hot]] bool pin_known(Rows rows, KnownObjects& bound, bool updates = false);
  void let_go(KnownObjects& bound);
  bool update_known(Rows rows);
  // Of one object that is no constant, by a copy that this thread makes itself and tells nobody of.
  [[gnu::hot]] bool update_few_bytes(void* host, std::int64_t size, bool to, bool from);

private:
  // The table's lock, and those of the shards whose objects have been touched.
  class Lock {
  public:
    explicit Lock(DataEnvironment& data) : data_(data), table_(data.mutex_) {}
    ~Lock() { release_shards(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ObjectIndex::Shard& shard_of(const Mapping& mapping) {
      const std::size_t number = ObjectIndex::shard_number(mapping.host.begin);
      const std::uint64_t bit = std::uint64_t{1} << (number % 64);
      if (!(held_[number / 64] & bit))
        data_.index_.shard(number).lock.lock();
      held_[number / 64] |= bit;
      return data_.index_.shard(number);
    }
    Mapping& touch(Mapping& mapping) {
      shard_of(mapping);
      return mapping;
    }
    void wait_for(Mapping& mapping);
    void wake_those_who_wait_for(Mapping& mapping);

  private:
    void release_shards();
    const observe::Postponed postponed_; // first, so that it outlives what is locked
    DataEnvironment& data_;
    std::unique_lock<std::mutex> table_;
    std::array<std::uint64_t, ObjectIndex::kShards / 64> held_{};
  };
  using Mappings = std::vector<MappingPtr>;
  enum class Direction { kToDevice, kToHost };

  // False: something is mapped there.
  bool add(MappingPtr mapping, Lock& lock);
  MappingPtr remove(Mapping& mapping, Lock& lock);
  MappingPtr take_from_table(Mapping& mapping, Lock& lock);
  void note_birth(Mapping& mapping);
  std::vector<MappingPtr> on_device(MappingTable::DeviceRange range, Lock& lock);

  Sharing sharing() const { return sharing_.load(std::memory_order_relaxed); }
  // Whether the device needs a copy of what the row maps.
  bool needs_copy(const Row& row) const {
    return sharing() == Sharing::kNone || (sharing() == Sharing::kRequired && row.has(kClose));
  }

  bool is_there(Mapping& mapping, Lock& lock);
  Lookup look_up(HostRange wanted, Lock& lock);
  Lookup look_up_any(HostRange wanted, Lock& lock);
  MappingPtr look_up_empty(const Row& row, Lock& lock);
  MappingPtr find_for(const Row& row, HostRange wanted, Lock& lock);
  MappingPtr find_known(const Row& row, HostRange wanted, Lock& lock);
  MappingPtr obtain(const Row& row, HostRange wanted, const void* call, Lock& lock, std::ptrdiff_t padding = 0);

  HostRange reserved_range(Rows rows, std::size_t index, Lock& lock);
  MappingPtr obtain_part(const Row& row, HostRange wanted, const void* call, Lock& lock);
  bool leads_to_host(const Row& row, Lock& lock);
  void bind_counted(Rows rows, std::size_t index, Binding& binding, const void* call, Lock& lock);
  void bind_parts(const Row& row, Binding& binding, const void* call, Lock& lock);
  void bind_attached(const Row& row, Binding& binding, const void* call, Lock& lock);
  void bind_released(const Row& row, Binding& binding, Lock& lock);
  bool bind_updated(const Row& row, Binding& binding, Lock& lock);
  void note_parts(Rows rows, std::size_t index, Bindings& bound, Lock& lock);

  static std::vector<HostRange> places_of(Rows rows, std::size_t index);
  void wait_until_none_leaves(Rows rows, Lock& lock);
  void bind(Rows rows, Held& held, Lock& lock);
  void queue_behind(Held& held, CommandList& commands, Lock& lock);
  void leave_events(Rows rows, Held& held, Purpose purpose, CommandList& commands, Lock& lock);
  void leave_event(Mapping& mapping, bool transfers, bool uses, Held& held, CommandList& commands, Lock& lock);
  void provide(Held& held);
  void publish(Held& held);
  void wait_for_others(Held& held);
  void copy_in(const Row& row, Binding& binding, CommandList& commands);
  bool attach(const Row& row, Binding& binding, CommandList& commands);
  bool attach_later(const Row& row, Binding& binding, CommandList& commands);
  std::string not_there(const Mapping& mapping, const std::string& why) const;
  std::string fault(Held& held, const std::string& why);
  bool refresh(Rows rows, Bindings& bound, Purpose purpose, CommandList& commands);
  std::string refuse(Rows rows, Held& held, const std::string& why);
  void break_object(Mapping& mapping);
  void note_written(Mapping* mapping);
  bool is_usable(const Mapping& mapping);
  bool is_host_current(const Mapping& mapping);

  void drop(const Row& row, Binding& binding, Release release);
  void release(Rows rows, Held& held, Release release, CommandList& commands, const char* region, Lock& lock);
  void depart(const MappingPtr& mapping, Held& held, CommandList& commands, Lock& lock);
  bool forget_if_over(Mapping& mapping, Held& held);
  void come_after_departures(HostRange range, CommandList& commands, Held& held);
  bool is_departing(HostRange range) const;
  void wait_until_resolved(const Mappings& mappings, Rows rows = {});
  bool copy(Direction direction, const Mapping& mapping, HostRange range, CommandList& commands,
            std::span<const HostRange> except = {});
  bool copy_now(Direction direction, const Mapping& mapping, HostRange range);
  std::vector<HostRange> without_pointers(const Mapping& mapping, HostRange range, std::span<const HostRange> except);
  std::vector<HostRange> parts_of(const Mapping& mapping);
  bool copy_whole(Direction direction, const Mapping& mapping, std::span<const HostRange> except);

  enum class Toward { kHost, kBoth };
  bool note_before(Mapping& mapping, std::span<const HostRange> newer);
  bool let_host_win(Mapping& mapping, std::span<const HostRange> ranges);
  std::vector<HostRange> shared_pieces(const Mapping& mapping, HostRange within);
  bool give_to_host(Mapping& mapping, std::span<const HostRange> newer, const HostFallback& fallback);
  bool give_to_device(Mapping& mapping);
  bool fill_all(Mapping& mapping);
  bool send(Mapping& mapping, HostRange range, CommandList& commands);
  bool fetch(Mapping& mapping, HostRange range, CommandList& commands);
  bool merge_copies(Mapping& mapping, HostRange within, Toward toward);
  bool merge(Mapping& mapping, HostRange piece, Toward toward, std::span<std::byte> room);
  Mappings present(Rows rows, std::span<const HostRange> globals, Lock& lock);
  Mappings named(Rows rows, std::span<const HostRange> globals, Lock& lock);
  void note_stale(Rows rows, std::span<const HostRange> globals, Held& held, CommandList& commands, Lock& lock);
  Mappings named_by_device_address(Rows rows, Lock& lock);
  std::string keep_on_device(Rows rows);
  std::string submit_at(const Row& row);
  bool is_out_of_reach(std::uintptr_t address);
  std::string submit_host_current(const Mappings& stale);
  std::string give_all_to_device(const Mappings& stale);
  bool is_untouched(const Mapping& mapping) const;
  void set_host_current(Mapping& mapping, bool value);
  void set_unusable(Mapping& mapping);
  void set_sound(Mapping& mapping);
  void forget_deleted(Rows rows);
  bool insert_infinite(HostRange host, void* device, const std::string& name, Sync sync, Lock& lock);

  enum class Claim { kHeld, kFresh, kNo };
  Claim claim(const Row& row, bool may_create, KnownObject& object);
  Claim create(const Row& row, KnownObject& object);
  bool may_attach(const Row& pointer, Rows rows) const;
  void fill(const Row& row, Rows others, KnownObject& object);
  static MappingPtr unpin(Mapping& mapping);
  bool drop_known(KnownObject& known);
  void give_back(MappingPtr share);
  void wait_for_users(const Mapping& mapping);
  bool fetch_now(Mapping& mapping, HostRange range);
  void copy_back(const KnownObject& known, const Row& row, const std::string& region);
  void leave(Mapping& mapping, const std::string& region);
  MappingPtr take_out(Mapping& mapping, const std::string& region, std::byte*& device);
  void update_one(Direction direction, const KnownObject& known, const Row& row);
  void wake();

  const DeviceMemory& memory_;
  std::atomic<Sharing> sharing_{Sharing::kNone};
  std::mutex mutex_;
  std::condition_variable changed_; // an object became ready or left
  std::mutex moving_;               // held while objects become newer on one side; taken before mutex_
  MappingTable table_;
  std::map<std::uintptr_t, std::size_t> allocations_; // by address; only where the host cannot use them
  ObjectIndex index_;
  MappedRegions regions_; // of the table
  // Memory whose copy back is queued. Whoever maps it anew comes after that. Under the table's lock.
  struct Departure {
    HostRange host;
    EventPtr ended;
  };
  std::vector<Departure> departures_;
  std::atomic<std::int64_t> host_current_count_{0};
  // Counts what has happened on the device, so that most launches change nothing that other threads look at.
  // Modulo 4: 1, objects have been created since; 2, and then one thing has happened, which may be taken back;
  // 0, more things have, or objects have been created by none since.
  std::atomic<std::uint64_t> activity_{0};
};

} // namespace omptool
