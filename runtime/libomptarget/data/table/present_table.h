// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects that a device has, by their host memory: it finds, adds and removes them, and knows the state of each.
// It asks nothing of the device.
//
// Threads: what changes of an object is guarded by the lock of its shard of the index, the table by a lock of its own,
// which is taken before any shard's. None is held across a copy, but of a few bytes that the thread moves itself, and a
// call without the table's lock holds one shard's at a time. A call that creates objects fills and publishes its own
// before it waits for another call's, and a call that drops objects waits for nothing once it has marked them, so no
// two calls wait for each other.
#pragma once

#include "data/table/activity.h"
#include "data/table/departures.h"
#include "data/table/mapped_regions.h"
#include "data/table/mapping_table.h"
#include "data/table/object_index.h"
#include "data/table/row_ranges.h"
#include "data/table/sharing.h"
#include "observe/events/sink.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace omptool {

using Mappings = std::vector<Mapping*>;

class PresentTable {
public:
  PresentTable(const DeviceMemory& memory, Activity& activity, const Sharing& sharing)
      : memory_(memory), activity_(activity), sharing_(sharing) {}

  // The table's lock, and those of the shards whose objects have been touched.
  class Lock {
  public:
    explicit Lock(PresentTable& table) : table_(table), lock_(table.mutex_) {}
    ~Lock() { release_shards(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ObjectIndex::Shard& shard_of(const Mapping& mapping) {
      const std::size_t number = mapping.shard;
      const std::uint64_t bit = std::uint64_t{1} << (number % 64);
      if (!(held_[number / 64] & bit))
        table_.index_.shard(number).lock.lock();
      held_[number / 64] |= bit;
      return table_.index_.shard(number);
    }
    Mapping& touch(Mapping& mapping) {
      shard_of(mapping);
      return mapping;
    }
    // An event that others have taken the place of, or an object that nobody looks at any more: their ends may call the
    // plugin, which wants no lock.
    void give_up(EventPtr event) {
      if (event)
        over_.push_back(std::move(event));
    }
    void give_up(std::unique_ptr<Mapping> gone) {
      if (gone)
        gone_.push_back(std::move(gone));
    }
    void wait_for(Mapping& mapping);

  private:
    friend class PresentTable;
    void release_shards();
    const observe::Postponed postponed_; // first, so that it outlives what is locked
    std::vector<EventPtr> over_;         // until nothing is locked
    std::vector<std::unique_ptr<Mapping>> gone_;
    PresentTable& table_;
    std::unique_lock<std::mutex> lock_;
    std::array<std::uint64_t, ObjectIndex::kShards / 64> held_{};
  };

  // ---- exact matches ----

  // The object that a row names by where it begins, found by the lock of one shard, as nearly all are.
  struct Entered {
    Mapping* object = nullptr; // pinned; null: it takes the table's lock to tell, and nothing has been done
    bool is_fresh = false;     // the call's to fill
  };
  // Finds the object and counts the row's reference. `may_create`: makes it for the call where nothing is. The row
  // needs nothing but a count, and a copy when its object is new or leaves.
  Entered enter(const Row& row, bool may_create, const void* call);
  // Finds the object and pins it, unless operations on it are queued. `updates`: the row's copy to the device follows.
  Mapping* find(const Row& row, bool updates) {
    return use(row, updates, [](Mapping& object) {
      ++object.pins;
      return true;
    });
  }
  // The same, but calls `what`, which must take few instructions, by the lock of the shard. Returns null, too, where
  // that returns false.
  template <typename What> Mapping* use(const Row& row, bool updates, const What& what);

  // ---- leaving ----

  // The record stays where it is until the call lets go of it.
  Mapping* pin(Mapping* mapping, Lock& lock);
  void unpin(Mapping& mapping);
  void unpin(Mapping& mapping, Lock& lock);
  // The object leaves, and its bytes are where they belong. Gives up the caller's pin. An object that has left keeps
  // its place for a while, without device memory: programs map the same memory again and again. Returns the device
  // memory that nobody uses any more, or null. `region` released it; "": no region did.
  std::byte* leave(Mapping& mapping, std::string_view region);

  // ---- objects ----

  // Returns the object; null, with nothing done: something is mapped there.
  Mapping* add(std::unique_ptr<Mapping> mapping, Lock& lock);
  // Calls that use it keep the record; its device memory goes with it.
  void remove(Mapping& mapping, Lock& lock);
  // The same of one whose bytes have yet to go back: what is to be known of it for that stays.
  void take_from_table(Mapping& mapping, Lock& lock);

  // Returns whether the object, which was found in the table, is there. If not, it has gone, and the caller looks
  // again: what is leaving is not there any more, but its memory is not yet free to map again.
  bool is_there(Mapping& mapping, Lock& lock);
  Lookup look_up(HostRange wanted, Lock& lock);
  // The same, but an object that is leaving is found, too.
  Lookup look_up_any(HostRange wanted, Lock& lock);
  // Returns the object of a row that has no bytes, or null.
  Mapping* look_up_empty(const Row& row, Lock& lock);
  // Returns the object that holds `wanted`, or null. Throws MappingFault when the row maps more than is there.
  Mapping* find_for(const Row& row, HostRange wanted, Lock& lock);
  // The same where nothing is to be created: on LLVM, what is there in part is not there.
  Mapping* find_known(const Row& row, HostRange wanted, Lock& lock);
  // Returns the object that holds `wanted`, created if absent, without memory so far. On a device that uses the host's
  // memory an object may be that memory; null: only part of it is there.
  Mapping* obtain(const Row& row, HostRange wanted, const void* call, Lock& lock, std::ptrdiff_t padding = 0);
  // Every object that shares a byte with the range, vacant ones too.
  Mappings overlapping(HostRange range, Lock&) const { return mappings_.overlapping(range); }
  // The first of these that is leaving, or null.
  Mapping* find_leaving(HostRange range, Lock& lock) const {
    return mappings_.find_overlapping(
        range, [&](Mapping* found) { return lock.touch(*found).state == Mapping::State::kLeaving; });
  }
  // Every object whose device memory shares a byte with the range; looks at all of them.
  Mappings on_device(std::uintptr_t begin, std::size_t size, Lock& lock);

  // ---- what is known of an object ----

  [[nodiscard]] std::unique_lock<BiasedLock> guard(const Mapping& mapping) { return index_.guard(mapping); }
  // Returns true if any object is newer on the host than on the device, or has no usable copy on the device. A fallback
  // that the program orders before the caller is seen by that order. Any other may begin right behind the answer: then
  // both sides write, and are merged, for which a launch asks again once it has noted itself (data/table/activity.h).
  bool any_host_current() const { return host_current_count_.load(std::memory_order_seq_cst) != 0; }
  // The caller holds the lock of the object's shard.
  void set_host_current(Mapping& mapping, bool value);
  void set_unusable(Mapping& mapping);
  // The object leaves: what was wrong with it matters no more.
  void set_sound(Mapping& mapping);
  bool is_host_current(const Mapping& mapping);
  bool is_usable(const Mapping& mapping);
  // Lets the device's copy count from now on, if it did not before. Null: does nothing.
  void note_written(Mapping* mapping);
  // The device did not take what a call created: the object is for the host alone, unless it has left already.
  void break_object(Mapping& mapping);
  // The call has filled what it created. `is_written`: with the host's data.
  void publish(Mapping& mapping, bool is_written, const void* call);
  // Wakes those who wait for an object that changed without the table's lock.
  void wake();

  // ---- departures ----

  void depart(HostRange host, const EventPtr& ended, Lock& lock) { departures_.add(host, ended, lock.over_); }
  void forget_departure(HostRange host, const EventPtr& ended, Lock&) { departures_.forget(host, ended); }
  // Returns the events that whoever maps the range anew comes after.
  std::vector<EventPtr> departures(HostRange range, Lock&) const { return departures_.pending(range); }

  // Returns false if no object holds a byte of the range.
  bool may_hold(HostRange range) const { return regions_.may_hold(range); }

private:
  static constexpr unsigned kMostVacant = 4; // of a shard

  [[gnu::noinline]] Entered create(const Row& row, const void* call);
  bool vacate(Mapping& mapping, std::byte*& device);
  // Nothing is left to tell from a record that has never been filled.
  static bool can_be_vacant(const Mapping& mapping) {
    return mapping.owner && !mapping.host_current && !mapping.details() && !mapping.enclosing && mapping.padding == 0;
  }
  // Nobody looks at it but the call that has it leave.
  static bool is_last_user(const Mapping& mapping) { return mapping.pins == 1; }
  [[gnu::noinline]] std::byte* take_out(Mapping& mapping, std::string_view region);
  static std::unique_ptr<Mapping> last_pin(Mapping& mapping);
  Mapping* grow(Mapping& variable, HostRange wanted, Lock& lock);

  const DeviceMemory& memory_;
  Activity& activity_;
  const Sharing& sharing_;
  std::mutex mutex_;
  std::condition_variable changed_; // an object became ready or left
  MappingTable mappings_;
  ObjectIndex index_;
  MappedRegions regions_; // of the table
  Departures departures_;
  std::atomic<std::int64_t> host_current_count_{0};
};

// Objects that a call looks at while it holds no lock.
class Pins {
public:
  Pins() = default;
  Pins(Pins&& other) noexcept : table_(other.table_), all_(std::exchange(other.all_, {})) {}
  Pins& operator=(Pins&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(all_, other.all_);
    return *this;
  }
  ~Pins() {
    for (Mapping* const one : all_)
      table_->unpin(*one);
  }
  void add(PresentTable& table, Mapping& mapping, PresentTable::Lock& lock) {
    table_ = &table;
    all_.push_back(table.pin(&mapping, lock));
  }
  bool empty() const { return all_.empty(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

private:
  PresentTable* table_ = nullptr;
  Mappings all_;
};

inline PresentTable::Entered PresentTable::enter(const Row& row, bool may_create, const void* call) {
  const HostRange wanted = range_of(row);
  may_create = may_create && !sharing_.any();
  {
    ObjectIndex::Shard& shard = index_.shard_of(wanted.begin);
    const std::lock_guard lock(shard.lock);
    Mapping* const known = ObjectIndex::find(shard, wanted.begin);
    if (known && (known->host.end < wanted.end || known->unusable || known->enclosing || known->queued))
      return {};
    if (known && known->state == Mapping::State::kReady) {
      ++known->references;
      ++known->pins;
      return {known, false};
    }
    if (known) {
      if (!may_create || known->state != Mapping::State::kVacant || known->host.end != wanted.end ||
          known->base != base_of(row))
        return {};
      --shard.vacant;
      known->state = Mapping::State::kCreating;
      known->creator = call;
      known->references = 1;
      ++known->pins;
      known->written = false;
      if (!row.has(kTo)) // else it will have been written to
        known->born = activity_.birth();
      return {known, true};
    }
  }
  return may_create ? create(row, call) : Entered{};
}

template <typename What> Mapping* PresentTable::use(const Row& row, bool updates, const What& what) {
  const HostRange wanted = range_of(row);
  ObjectIndex::Shard& shard = index_.shard_of(wanted.begin);
  const std::lock_guard lock(shard.lock);
  Mapping* const known = ObjectIndex::find(shard, wanted.begin);
  if (!known || known->host.end < wanted.end || known->state != Mapping::State::kReady || known->queued)
    return nullptr;
  if (!what(*known))
    return nullptr;
  known->written = known->written || (updates && row.has(kTo));
  return known;
}

// Takes back a pin, by the shard's lock. Returns the object, to be destroyed without it, if that was the last.
inline std::unique_ptr<Mapping> PresentTable::last_pin(Mapping& mapping) {
  const bool is_over = --mapping.pins == 0 && mapping.state == Mapping::State::kGone;
  return std::unique_ptr<Mapping>(is_over ? &mapping : nullptr);
}

inline void PresentTable::unpin(Mapping& mapping) {
  std::unique_ptr<Mapping> last;
  const auto guard = index_.guard(mapping);
  last = last_pin(mapping);
}

inline void PresentTable::set_host_current(Mapping& mapping, bool value) {
  if (value && mapping.state == Mapping::State::kGone) // no region will ask for it
    return;
  if (mapping.host_current != value)
    host_current_count_.fetch_add(value ? 1 : -1, std::memory_order_seq_cst);
  mapping.host_current = value;
}

// It leaves: what was wrong with it matters no more.
inline void PresentTable::set_sound(Mapping& mapping) {
  set_host_current(mapping, false);
  if (mapping.unusable)
    host_current_count_.fetch_sub(1, std::memory_order_relaxed);
  mapping.unusable = false;
}

inline std::byte* PresentTable::leave(Mapping& mapping, std::string_view region) {
  std::byte* device = nullptr;
  return vacate(mapping, device) ? device : take_out(mapping, region);
}

inline bool PresentTable::vacate(Mapping& mapping, std::byte*& device) {
  bool awaited = false;
  {
    ObjectIndex::Shard& shard = index_.shard_of(mapping);
    const std::lock_guard lock(shard.lock);
    if (mapping.state != Mapping::State::kLeaving || shard.vacant >= kMostVacant || !can_be_vacant(mapping) ||
        !is_last_user(mapping))
      return false;
    ++shard.vacant;
    mapping.pins = 0;
    device = mapping.take_device();
    set_sound(mapping);
    mapping.state = Mapping::State::kVacant;
    awaited = std::exchange(mapping.awaited, false);
  }
  if (awaited)
    wake();
  return true;
}

inline void PresentTable::publish(Mapping& mapping, bool is_written, const void* call) {
  bool awaited = false;
  {
    const auto guard = index_.guard(mapping);
    mapping.written = mapping.written || is_written;
    if (mapping.creator != call) // by another row
      return;
    if (mapping.state == Mapping::State::kCreating) // else it has left already
      mapping.state = Mapping::State::kReady;
    mapping.creator = nullptr;
    awaited = std::exchange(mapping.awaited, false);
  }
  if (awaited) [[unlikely]]
    wake();
}

} // namespace omptool
