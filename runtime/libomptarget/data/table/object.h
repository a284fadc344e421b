// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A piece of host memory that has a copy on one device: what is known of it, and who may change that. An object owns
// itself. Each verb takes the object's lock for as long as it runs, and no other lock.
//
// Records are never freed while their table lives, so that an old address of one can be followed: the lock and the
// range tell whether it is still what was sought.
#pragma once

#include "data/table/activity.h"
#include "data/table/fallback_thread.h"
#include "data/table/range_set.h"
#include "host_range.h"
#include "rtl/device_memory.h"
#include "rtl/event.h"
#include "small_blocks.h"
#include "threads/spin_lock.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace omptool {

// A pointer inside a mapped object whose device value is an address of the device. Copies of the
// object in either direction leave it alone.
struct AttachedPointer {
  void* device_value = nullptr; // what the device's copy holds
  std::uintptr_t pointee = 0;   // the host value at the time
  bool arrived = false;         // false: the device did not take it, or has yet to
};
using AttachedPointers = std::map<std::uintptr_t, AttachedPointer>; // by the host addresses of the pointers

// The two sides of an object after a region that uses it fell back. Other threads' kernels, and the
// region's host version, may still be writing, each on its own side; to tell what is new from what is
// old takes a copy of what both had.
struct Diverged {
  std::vector<std::byte> before;     // of both sides; empty: the device holds nothing yet
  std::vector<HostFallback> running; // that may still be
};

// Vectors and long doubles in a struct need its start where it is on the host, modulo this.
constexpr std::size_t kStructAlignment = 16;

enum class Count : std::uint8_t { kNone, kReference, kHold };

// A launch looks at the first cache line; the next one is of those who map and unmap.
class alignas(64) Object {
public:
  // An object appears when its first reference does, is filled by the call that created it, and
  // goes when the call that drops the last reference has copied it back. A vacant one is not there for
  // anybody: its place is kept for the next call that maps the same memory, which many programs do. A record that is
  // gone is in no table.
  enum class State : std::uint8_t { kFilling, kPresent, kLeaving, kVacant, kGone };
  using Events = std::vector<EventPtr>;

  // The properties that a new object begins with.
  struct Beginning {
    HostRange host;
    std::byte* device = nullptr; // null: the call that fills the object gives it memory
    const void* maker = nullptr; // the call that fills it, and has it pinned; null: it is there already
    std::ptrdiff_t padding = 0;  // device memory before `device`, so that members are aligned as on the host
    std::uintptr_t base = 0;     // what the program's pointer to it is: the beginning, or before that; 0: as `host`
    std::int64_t references = 0, holds = 0;
    bool infinite = false;  // never released by counting
    bool own_value = false; // the device's copy holds something else than the host's: nothing is copied
    bool written = false;   // the host's data has been copied to the device
    std::string name = {};  // of a global variable
  };

  // `unsound` counts the objects that are newer on the host, or that the device has no usable copy of.
  explicit Object(std::atomic<std::int64_t>& unsound) : unsound_(unsound) {}
  ~Object() { clear(); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // ---- what is known without the lock, by those who have pinned it ----

  HostRange host() const { return host_; }
  std::byte* device() const { return device_.load(std::memory_order_relaxed); }
  std::byte* at(std::uintptr_t address) const { return device() + (address - host_.begin); }
  std::uintptr_t base() const { return base_; } // changes under the table's lock
  const DeviceMemory* owner() const { return owner_; }
  std::ptrdiff_t padding() const { return padding_; }
  bool is_infinite() const { return has(kInfinite); }
  bool has_own_value() const { return has(kOwnValue); }
  bool is_enclosing() const { return has(kEnclosing); }
  bool is_unusable() const { return has(kUnusable); }
  bool is_host_current() const { return has(kHostCurrent); }
  // Kernels use the host's memory itself.
  bool is_in_place() const { return has(kOwnValue) && device() == host_.address(); }
  // Pointers, parts, events and a name, of which most objects have none.
  bool has_details() const { return details_.load(std::memory_order_acquire) != nullptr; }
  bool is_named() const { return details() && !details()->name.empty(); }
  std::string name() const { return details() ? details()->name : std::string(); }

  struct Snapshot {
    HostRange host;
    std::byte* device;
    std::ptrdiff_t padding;
    std::int64_t references, holds;
    State state;
    bool infinite;
  };
  Snapshot snapshot() const {
    const std::lock_guard guard(lock_);
    return {host_, device(), padding_, references_, holds_, state_, has(kInfinite)};
  }
  State state() const {
    const std::lock_guard guard(lock_);
    return state_;
  }
  // The facts of an object that a construct needs when it has bound it.
  struct Standing {
    bool is_own;    // the construct fills it
    bool is_usable; // by regions on the device
    bool is_filled;
  };
  Standing standing(const void* call) const {
    const std::lock_guard guard(lock_);
    return {state_ == State::kFilling && maker_ == call, !has(kUnusable), state_ != State::kFilling};
  }

  // ---- references ----

  enum class Found : std::uint8_t { kNo, kPresent, kNew };
  // Counts and pins the object for a row that needs nothing but a count, and a copy when its object is new or leaves.
  // `maker`: a call that fills the object if it is vacant; null: none does. kNo: it takes the table's lock to tell.
  Found enter(HostRange wanted, std::uintptr_t base, const void* maker, Activity* births) {
    const std::lock_guard guard(lock_);
    if (host_.begin != wanted.begin || host_.end < wanted.end || has(kUnusable | kEnclosing | kQueued)) [[unlikely]]
      return Found::kNo;
    if (state_ == State::kPresent) {
      ++references_;
      ++pins_;
      return Found::kPresent;
    }
    if (!maker || state_ != State::kVacant || host_.end != wanted.end || base_ != base) [[unlikely]]
      return Found::kNo;
    state_ = State::kFilling;
    maker_ = maker;
    references_ = 1;
    ++pins_;
    if (has(kWritten | kSeen))
      put(kWritten | kSeen, false);
    if (births) // else it will have been written to
      born_ = births->birth();
    return Found::kNew;
  }
  // Calls `what`, which takes few instructions and may pin the object, by its lock. False: it takes the table's lock to
  // tell, or `what` has returned false.
  template <typename What> bool use(HostRange wanted, bool is_written, const What& what) {
    const std::lock_guard guard(lock_);
    if (host_.begin != wanted.begin || host_.end < wanted.end || state_ != State::kPresent || has(kQueued) || !what())
        [[unlikely]]
      return false;
    if (is_written && !has(kWritten))
      put(kWritten, true);
    return true;
  }
  // Finds the object for a row that only uses it, and pins it. As use().
  bool find(HostRange wanted, bool is_written) {
    return use(wanted, is_written, [&] { return ++pins_ != 0; });
  }
  // Pins and counts the object if it is being filled or present. `if_separate`: the count of a part of a struct that
  // has an object to itself. Returns its state.
  State pin(Count count = Count::kNone, Count if_separate = Count::kNone);
  // Pins the object, whatever its state, if the host's copy is the newer one.
  bool pin_newer_on_host() {
    const std::lock_guard guard(lock_);
    pins_ += has(kHostCurrent) ? 1 : 0;
    return has(kHostCurrent);
  }
  // True: the record is gone, and nobody looks at it any more.
  [[nodiscard]] bool unpin() {
    const std::lock_guard guard(lock_);
    return --pins_ == 0 && state_ == State::kGone;
  }

  // The part of a row that says how it lets go of its object.
  struct Uncount {
    bool holds;   // the row's count is a holding reference
    bool counts;  // the row has one; else only where the object is separate
    bool deletes; // all go
  };
  enum class Left : std::uint8_t { kQueued, kStays, kUnpinned, kLeaves };
  // Takes the row's reference away, and decides whether the object leaves with the call. `unpins`: drops the pin of
  // an object that stays. kQueued: operations on it are queued, and nothing has been done.
  Left uncount(const Uncount& row, bool unpins, const void* call) {
    const std::lock_guard guard(lock_);
    if (has(kQueued)) [[unlikely]]
      return Left::kQueued;
    take_count(row);
    if (is_left(call)) {
      state_ = State::kLeaving;
      maker_ = call;
      return Left::kLeaves;
    }
    if (!unpins || state_ != State::kPresent)
      return Left::kStays;
    --pins_;
    return Left::kUnpinned;
  }
  // Only takes the reference away, as constructs do that are ordered: leave_in_order() follows.
  void uncount(const Uncount& row) {
    const std::lock_guard guard(lock_);
    take_count(row);
  }
  enum class Departure : std::uint8_t { kStays, kLeaves, kDeparts };
  // Decides whether the object leaves with the call. kDeparts: behind others' operations, which `pending` gets, or as
  // `is_later` says: the table then forgets the object at once.
  Departure leave_in_order(const void* call, bool is_later, const EventPtr& own, Events& pending);
  // Returns whether the call gives the object up, perhaps by another row.
  bool is_left_by(const void* call) const {
    const std::lock_guard guard(lock_);
    return (state_ == State::kLeaving || state_ == State::kGone) && maker_ == call;
  }
  // Forgets what others count, for a region that has fallen back. True: nobody refers to the object any more, which is
  // present, and it is gone.
  bool remove_counts(Count count);

  // ---- its life ----

  // Makes a record that is gone an object.
  // `owner`: whose memory it is to get; null: it has somebody else's (globals, omp_target_associate_ptr). `born`: the
  // device's activity, unless the host's data is written.
  void begin(Beginning&& with, const DeviceMemory* owner, std::uint64_t born);
  // The call that fills the object gives it memory. Nobody else writes that, and others may read null until filled().
  void give_memory(std::byte* device) { device_.store(device, std::memory_order_relaxed); }
  // The call has filled what it created, with the host's data if `is_written`. Returns whether somebody waits for that.
  bool filled(bool is_written, const void* call) {
    const std::lock_guard guard(lock_);
    if (is_written && !has(kWritten))
      put(kWritten, true);
    if (state_ == State::kFilling && maker_ == call) { // else by another row, or it has left already
      state_ = State::kPresent;
      maker_ = nullptr;
    }
    return take_awaited();
  }
  // Returns true once in the object's life.
  bool is_first_look();
  void set_base(std::uintptr_t base) {
    const std::lock_guard guard(lock_);
    base_ = base;
  }
  // Marks the object as awaited by a thread that holds the table's lock. False: it is present, vacant or gone.
  bool await();

  enum class Vacated : std::uint8_t { kNo, kYes, kAwaited };
  // The bytes of the object, which leaves, are where they belong: it becomes vacant, and the caller loses its pin
  // and frees `device`. kNo: nothing has been done, because something is left to tell from one that has never been
  // filled, or somebody else looks at it. The caller knows that the table keeps the record.
  Vacated vacate(std::byte*& device) {
    const std::lock_guard guard(lock_);
    return become_vacant(device);
  }
  // Makes the object vacant like vacate(), and marks its record as one that the table keeps while it is vacant.
  Vacated keep_vacant(std::byte*& device);
  bool is_kept() const { return has(kKept); }
  // Makes a vacant record one that is gone, for the holder of the table's lock. False: it is not vacant any more.
  bool end_vacancy();
  struct Removed {
    bool is_awaited; // somebody waits for that
    bool is_last;    // nobody looks at the record any more
  };
  // The object is out of the table. `is_over`: what was wrong with it matters no more.
  Removed remove(bool is_over);
  struct Parted {
    std::byte* device = nullptr; // for the caller to free; null: it goes with the record, or somebody else owns it
    bool was_in_table = false;
    Removed removed = {false, false};
  };
  // The bytes of the object, which has left, are where they belong. Drops the caller's pin and, unless others look
  // at the object, its memory. The caller takes it out of the table if it has not departed before.
  Parted part(std::string_view region);
  // Empties a record that is gone, and frees its memory. No lock may be held.
  void clear();

  // ---- the two sides ----

  void note_written() {
    const std::lock_guard guard(lock_);
    put(kWritten, true);
  }
  // The host's copy is the newer one, or is not any more. Nothing, of an object that has gone.
  void mark(bool newer) {
    const std::lock_guard guard(lock_);
    set_newer(newer);
  }
  // The device did not take what a call created: the object is for the host alone, unless it has left already.
  void break_off();
  // No region that names the object can run on the device.
  void mark_unusable() {
    const std::lock_guard guard(lock_);
    set_unusable();
  }
  bool is_usable() const {
    const std::lock_guard guard(lock_);
    return device() && !has(kUnusable);
  }
  // Returns whether it can be brought up to date from the host.
  bool needs_device_copy() const {
    const std::lock_guard guard(lock_);
    return has(kHostCurrent) && device() && !has(kUnusable);
  }
  bool is_newer_on_host() const {
    const std::lock_guard guard(lock_);
    return has(kHostCurrent);
  }
  // Pins the object, which is present, if the host has it newer or it is not usable, and returns its last transfer that
  // is pending in `written`.
  bool pin_stale(bool& is_usable, EventPtr& written);
  // Marks the host's copy as the newer one. Returns whether it was so, or nobody has written to the device's.
  bool become_host_current(const Activity& activity, bool& can_diverge);
  // While the host's copy is the newer one, if there are two sides; under the lock of Fallback.
  Diverged* diverged() const { return diverged_.get(); }
  void diverge() { diverged_ = std::make_unique<Diverged>(); }
  // The device has what the host has. `is_over`: no host version that uses the object may be running.
  void meet(bool is_over);

  // ---- events ----

  // Returns the last transfer to the device that is pending, or null. Where all that was queued has ended, exact
  // matches find the object again, and `over` gets its events.
  EventPtr pending_write(Events& over);
  // Returns the last transfer to the device that was queued, or null.
  EventPtr last_write() const;
  // Leaves what the constructs that come later come after. `over` gets what it takes the place of.
  void note_write(const EventPtr& filled, Events& over);
  void note_use(const EventPtr& ended, Events& over);

  // ---- pointers and parts ----

  enum class Attached : std::uint8_t { kKnown, kNew };
  // kKnown: the device's copy of the pointer at `cell` has the value already.
  Attached attach(std::uintptr_t cell, void* value, std::uintptr_t pointee, bool possible);
  // The device did not take the pointer.
  void detach(std::uintptr_t cell);
  bool has_pointers() const;
  // Returns where in the range pointers are attached, by address.
  std::vector<HostRange> pointers(HostRange range) const;
  // Returns where attached pointers lead to on the host.
  std::vector<std::uintptr_t> pointees() const;

  // Memory around the mapped parts of a struct: the holes hold nothing.
  void enclose() {
    const std::lock_guard guard(lock_);
    put(kEnclosing, true);
  }
  // The program maps this part of the memory.
  void note_part(HostRange part);
  // Returns what of the object the program maps.
  std::vector<HostRange> parts() const;
  // Rows without a count of their own count it, as no other row does.
  void set_separate(Count count);
  bool is_separate() const {
    const std::lock_guard guard(lock_);
    return has(kSeparate);
  }

private:
  struct Details : small_blocks::Allocated {
    std::string name;        // of a global variable; not changed once others see the object
    std::string released_by; // the region that dropped the last reference, if a region did
    AttachedPointers pointers;
    RangeSet parts;   // of an enclosing range: what the program maps
    EventPtr written; // the last transfer to the device that was queued; null: none was
    Events users;     // what uses the object and may not have ended
  };
  enum Flag : std::uint16_t {
    kInfinite = 1U << 0,
    kOwnValue = 1U << 1,
    kUnusable = 1U << 2,
    kHostCurrent = 1U << 3,
    kWritten = 1U << 4,
    kEnclosing = 1U << 5,
    kQueued = 1U << 6,   // the details have events, which may be over
    kSeparate = 1U << 7, // part of a struct, outside of what the struct's row reserves
    kAwaited = 1U << 8,  // a call waits until it is filled or has left
    kKept = 1U << 9,     // the table keeps the record while it is vacant
    kSeen = 1U << 10,    // by the call that creates it
  };
  bool has(unsigned any) const { return (flags_.load(std::memory_order_relaxed) & any) != 0; }
  // By the lock: others only load.
  void put(unsigned flags, bool value) {
    const unsigned now = flags_.load(std::memory_order_relaxed);
    flags_.store(static_cast<std::uint16_t>(value ? now | flags : now & ~flags), std::memory_order_relaxed);
  }
  const Details* details() const { return details_.load(std::memory_order_acquire); }
  Details& make_details();
  bool take_awaited() {
    if (!has(kAwaited)) [[likely]]
      return false;
    put(kAwaited, false);
    return true;
  }
  void add_count(Count count) {
    if (count != Count::kNone)
      ++(count == Count::kHold ? holds_ : references_);
  }
  void take_count(const Uncount& row) {
    if (has(kInfinite) && !row.holds)
      return;
    std::int64_t& count = row.holds ? holds_ : references_;
    if (row.deletes)
      count = 0;
    else if (count > 0 && (row.counts || has(kSeparate)))
      --count;
  }
  // Tells if nobody refers to the object any more, and it is there.
  bool is_left(const void* call) const {
    return references_ == 0 && holds_ == 0 && !has(kInfinite) &&
           (state_ == State::kPresent || (state_ == State::kFilling && maker_ == call));
  }
  Vacated become_vacant(std::byte*& device) {
    if (state_ != State::kLeaving || pins_ != 1 || !owner_ || padding_ != 0 || has_details() ||
        has(kHostCurrent | kUnusable | kEnclosing)) [[unlikely]]
      return Vacated::kNo;
    pins_ = 0;
    device = take_device();
    state_ = State::kVacant;
    return take_awaited() ? Vacated::kAwaited : Vacated::kYes;
  }
  std::byte* take_device() {
    std::byte* const begin = device();
    device_.store(nullptr, std::memory_order_relaxed);
    return begin;
  }
  void set_newer(bool newer);
  void set_unusable();
  void set_sound();

  mutable SpinLock lock_;
  State state_ = State::kGone;
  std::atomic<std::uint16_t> flags_{0};
  std::uint32_t pins_ = 0; // of calls that look at it
  HostRange host_;
  std::atomic<std::byte*> device_{nullptr}; // null: the device had no memory for it, host only
  std::int64_t references_ = 0;
  std::uintptr_t base_ = 0;
  const void* maker_ = nullptr; // the call that fills the object, or has it leave
  std::int64_t holds_ = 0;      // references that only their own construct drops

  const DeviceMemory* owner_ = nullptr;
  std::uint64_t born_ = 0;
  std::ptrdiff_t padding_ = 0;
  std::unique_ptr<Diverged> diverged_;
  std::atomic<Details*> details_{nullptr};
  std::atomic<std::int64_t>& unsound_;
};
static_assert(sizeof(Object) == 128);

// Returns how messages name it: the address and the size; with "the object at" or its name.
std::string describe(HostRange range);
std::string describe(const Object& object);

} // namespace omptool
