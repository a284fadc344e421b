// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects that a device has, by their host memory: it finds, adds and removes them. It asks nothing of the device.
//
// Threads: what changes of an object is guarded by the object's own lock, the table by another, which is taken before
// any object's. None is held across a copy, but of a few bytes that the thread moves itself. A call that creates
// objects fills and publishes its own before it waits for another call's, and a call that drops objects waits for
// nothing once it has marked them, so no two calls wait for each other.
#pragma once

#include "data/table/activity.h"
#include "data/table/departures.h"
#include "data/table/mapped_regions.h"
#include "data/table/object.h"
#include "data/table/object_hints.h"
#include "data/table/object_records.h"
#include "data/table/objects_by_address.h"
#include "data/table/row_ranges.h"
#include "data/table/sharing.h"
#include "observe/events/sink.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace omptool {

using Objects = std::vector<Object*>;

// The answer of the table about a range.
struct Answer {
  // kNew: of a call's own making. kPartial: only part of the range is in an object. kLeaving: an object that leaves has
  // some of it.
  enum class Kind : std::uint8_t { kAbsent, kPresent, kNew, kPartial, kLeaving };
  Kind kind = Kind::kAbsent;
  Object* object = nullptr; // pinned if kPresent or kNew; else one of those that have some of the range, or null
  bool is(Kind wanted) const { return kind == wanted; }
};

class PresentTable {
public:
  PresentTable(const DeviceMemory& memory, Activity& activity, const Sharing& sharing)
      : memory_(memory), activity_(activity), sharing_(sharing) {}

  // The table's lock. Nobody else adds objects to the table or erases them while it is held, but those in it go on:
  // present ones are counted and leave, leaving ones become vacant, and vacant ones are filled anew. Dropped events and
  // records end when the lock is released, as that may call the plugin.
  class Lock {
  public:
    explicit Lock(PresentTable& table) : table_(table), lock_(table.mutex_) {}
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    Object::Events& over() { return over_; }
    // Drops the caller's pin.
    void unpin(Object& object) {
      if (object.unpin()) [[unlikely]]
        gone_.push_back(&object);
    }
    // Waits until the object is present or has left, without the lock.
    void wait_for(Object& object);

  private:
    friend class PresentTable;
    const observe::Postponed postponed_; // first, so that it outlives what is locked
    Object::Events over_;                // until nothing is locked
    Objects gone_;
    PresentTable& table_;
    std::unique_lock<std::mutex> lock_;
  };

  // ---- exact matches ----

  // Finds and counts the object of a row that names it by where it begins, as nearly all do, and that needs nothing but
  // a count, and a copy when its object is new or leaves. `may_create`: makes it for the call where nothing is.
  // kAbsent: it takes the table's lock to tell, and nothing has been done.
  Answer enter(const Row& row, bool may_create, const void* call) {
    const HostRange wanted = range_of(row);
    may_create = may_create && !sharing_.any();
    if (Object* const known = hints_.find(wanted.begin)) [[likely]] {
      const Object::Found found =
          known->enter(wanted, base_of(row), may_create ? call : nullptr, row.has(kTo) ? nullptr : &activity_);
      if (found != Object::Found::kNo) [[likely]]
        return {found == Object::Found::kNew ? Answer::Kind::kNew : Answer::Kind::kPresent, known};
    }
    return may_create ? create(row, call) : Answer{};
  }
  // Returns the hinted object of a row, which may be out of date; or null.
  Object* hinted(const Row& row) const { return hints_.find(range_of(row).begin); }

  // ---- all matches ----

  // Finds what holds the range, and pins and counts it: as Object::pin().
  Answer find(HostRange wanted, Lock& lock, Count count = Count::kNone, Count if_separate = Count::kNone);
  // Finds what a section of no bytes belongs to: what holds the address or, of a section whose `address` is meant as it
  // is, the next object if the address is a base pointer of it.
  Answer find_section(const void* address, bool is_meant, Lock& lock, Count count = Count::kNone);
  // Every object that shares a byte with the range, vacant ones too.
  Objects overlapping(HostRange range, Lock&) const { return objects_.overlapping(range); }
  // Returns false if no object holds a byte of the range.
  bool may_hold(HostRange range) const { return regions_.may_hold(range); }
  // Returns true if any object is newer on the host than on the device, or has no usable copy on the device. A fallback
  // that the program orders before the caller is seen by that order. Any other may begin right behind the answer: then
  // both sides write, and are merged, for which a launch asks again once it has noted itself (data/table/activity.h).
  bool any_host_current() const { return records_.unsound().load(std::memory_order_seq_cst) != 0; }

  // ---- changes ----

  // Returns the object, pinned if a call fills it; null, with nothing done: something is mapped there.
  Object* insert(Object::Beginning&& with, Lock& lock);
  // Calls that use the object keep its record; its device memory goes with that.
  void erase(Object& object, Lock& lock);
  // Drops the caller's pin. May call the plugin: no lock may be held.
  void unpin(Object& object) {
    if (object.unpin()) [[unlikely]]
      records_.recycle(object);
  }
  // The call has filled what it created. `is_written`: with the host's data.
  void publish(Object& object, bool is_written, const void* call) {
    if (object.filled(is_written, call)) [[unlikely]]
      wake();
  }
  // The object leaves, and its bytes are where they belong. Drops the caller's pin. An object that has left keeps
  // its place for a while, without device memory: programs map the same memory again and again. Returns the device
  // memory that nobody uses any more, or null. `region` released it; "": no region did.
  std::byte* leave(Object& object, std::string_view region) {
    std::byte* device = nullptr;
    const Object::Vacated vacated = object.is_kept() ? object.vacate(device) : Object::Vacated::kNo;
    if (vacated == Object::Vacated::kNo) [[unlikely]]
      return take_out(object, region);
    if (vacated == Object::Vacated::kAwaited) [[unlikely]]
      wake();
    return device;
  }

  // ---- departures ----

  // Takes an object that is gone out of the table. Whoever maps its range anew comes after the event.
  void depart(Object& object, const EventPtr& ended, Lock& lock);
  Departures& departures(Lock&) { return departures_; }

private:
  static constexpr std::size_t kMostKept = 256; // vacant records, or present ones that have been

  [[gnu::noinline]] Answer create(const Row& row, const void* call);
  [[gnu::noinline]] std::byte* take_out(Object& object, std::string_view region);
  // Returns whether nobody looks at the record any more.
  bool take_from_table(Object& object, bool is_over, Lock& lock);
  void forget(const Object& object, bool is_kept, Object::Removed removed);
  void wake();

  const DeviceMemory& memory_;
  Activity& activity_;
  const Sharing& sharing_;
  ObjectRecords records_;
  ObjectHints hints_;
  std::mutex mutex_;
  std::condition_variable changed_; // an object became present or left
  ObjectsByAddress objects_;
  std::size_t kept_ = 0;
  MappedRegions regions_; // of the table
  Departures departures_;
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
  ~Pins() { clear(); }
  void clear() {
    for (Object* const one : all_)
      table_->unpin(*one);
    all_.clear();
  }
  // Takes over the caller's pin.
  void add(PresentTable& table, Object& pinned) {
    table_ = &table;
    all_.push_back(&pinned);
  }
  bool empty() const { return all_.empty(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

private:
  PresentTable* table_ = nullptr;
  Objects all_;
};

} // namespace omptool
