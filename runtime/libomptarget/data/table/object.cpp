// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/object.h"

#include <algorithm>
#include <cstdio>

namespace omptool {
namespace {

bool is_over(const EventPtr& event) {
  return !event || event->is_done();
}

} // namespace

std::string describe(HostRange range) {
  char text[64];
  std::snprintf(text, sizeof text, "%p (%lld bytes)", range.address(), static_cast<long long>(range.size()));
  return text;
}

std::string describe(const Object& object) {
  return (object.is_named() ? object.name() + " at " : "the object at ") + describe(object.host());
}

Object::Details& Object::make_details() {
  if (!has_details())
    details_.store(new Details, std::memory_order_release);
  return *details_.load(std::memory_order_relaxed);
}

// ---- references ----

Object::State Object::pin(Count count, Count if_separate) {
  const std::lock_guard guard(lock_);
  if (state_ != State::kFilling && state_ != State::kPresent)
    return state_;
  ++pins_;
  add_count(count);
  if (has(kSeparate))
    add_count(if_separate);
  return state_;
}

Object::Departure Object::leave_in_order(const void* call, bool is_later, const EventPtr& own, Events& pending) {
  const std::lock_guard guard(lock_);
  if (!is_left(call))
    return Departure::kStays;
  maker_ = call;
  if (has(kQueued)) {
    const auto add = [&](const EventPtr& event) {
      if (!is_over(event))
        pending.push_back(event);
    };
    add(details()->written);
    for (const EventPtr& user : details()->users)
      add(user);
  }
  if (is_later || std::any_of(pending.begin(), pending.end(), [&](const EventPtr& event) { return event != own; }))
    state_ = State::kGone;
  else
    state_ = State::kLeaving;
  return state_ == State::kGone ? Departure::kDeparts : Departure::kLeaves;
}

bool Object::remove_counts(Count count) {
  const std::lock_guard guard(lock_);
  if (has(kInfinite) || state_ != State::kPresent)
    return false;
  (count == Count::kHold ? holds_ : references_) = 0;
  if (references_ != 0 || holds_ != 0)
    return false;
  state_ = State::kGone;
  return true;
}

// ---- its life ----

void Object::begin(Beginning&& with, const DeviceMemory* owner, std::uint64_t born) {
  const std::lock_guard guard(lock_);
  host_ = with.host;
  device_.store(with.device, std::memory_order_relaxed);
  owner_ = owner;
  maker_ = with.maker;
  state_ = with.maker ? State::kFilling : State::kPresent;
  born_ = born;
  padding_ = with.padding;
  base_ = with.base ? with.base : with.host.begin;
  pins_ = with.maker ? 1 : 0;
  references_ = with.references;
  holds_ = with.holds;
  flags_.store(0, std::memory_order_relaxed);
  put(kInfinite, with.infinite);
  put(kOwnValue, with.own_value);
  put(kWritten, with.written);
  if (!with.name.empty())
    make_details().name = std::move(with.name);
}

bool Object::is_first_look() {
  const std::lock_guard guard(lock_);
  const bool is_first = !has(kSeen);
  put(kSeen, true);
  return is_first;
}

bool Object::await() {
  const std::lock_guard guard(lock_);
  const bool is_changing = state_ == State::kFilling || state_ == State::kLeaving;
  if (is_changing)
    put(kAwaited, true);
  return is_changing;
}

Object::Vacated Object::keep_vacant(std::byte*& device) {
  const std::lock_guard guard(lock_);
  const Vacated vacated = become_vacant(device);
  if (vacated != Vacated::kNo)
    put(kKept, true);
  return vacated;
}

bool Object::end_vacancy() {
  const std::lock_guard guard(lock_);
  if (state_ != State::kVacant)
    return false;
  state_ = State::kGone;
  return true;
}

Object::Removed Object::remove(bool is_over) {
  const std::lock_guard guard(lock_);
  if (is_over)
    set_sound();
  state_ = State::kGone;
  put(kKept, false);
  return {take_awaited(), pins_ == 0};
}

Object::Parted Object::part(std::string_view region) {
  const std::lock_guard guard(lock_);
  Parted parted;
  if (pins_ != 1)
    make_details().released_by = region;
  else if (owner_)
    parted.device = take_device();
  set_sound();
  maker_ = nullptr;
  parted.was_in_table = state_ == State::kLeaving;
  state_ = State::kGone;
  put(kKept, false);
  parted.removed = {take_awaited(), --pins_ == 0};
  return parted;
}

void Object::clear() {
  const std::unique_ptr<Details> own(details_.load(std::memory_order_acquire));
  details_.store(nullptr, std::memory_order_relaxed);
  diverged_.reset();
  if (std::byte* const device = take_device(); owner_ && device)
    owner_->release(device, host_.address(), host_.size(), own ? own->released_by : std::string_view(), padding_);
}

// ---- the two sides ----

void Object::set_newer(bool newer) {
  if (newer && state_ == State::kGone) // no region will ask for it
    return;
  if (has(kHostCurrent) != newer)
    unsound_.fetch_add(newer ? 1 : -1, std::memory_order_seq_cst);
  put(kHostCurrent, newer);
}

void Object::set_unusable() {
  if (!has(kUnusable))
    unsound_.fetch_add(1, std::memory_order_relaxed);
  put(kUnusable, true);
}

// Clears the host-current and unusable marks of an object that leaves the table.
void Object::set_sound() {
  set_newer(false);
  if (has(kUnusable))
    unsound_.fetch_sub(1, std::memory_order_relaxed);
  put(kUnusable, false);
}

void Object::break_off() {
  const std::lock_guard guard(lock_);
  if (state_ == State::kGone)
    return;
  set_unusable();
  set_newer(true);
}

bool Object::pin_stale(bool& is_usable, EventPtr& written) {
  const std::lock_guard guard(lock_);
  if (state_ != State::kPresent || !has(kHostCurrent | kUnusable))
    return false;
  ++pins_;
  is_usable = !has(kUnusable);
  if (has(kQueued) && !is_over(details()->written))
    written = details()->written;
  return true;
}

bool Object::become_host_current(const Activity& activity, bool& can_diverge) {
  const std::lock_guard guard(lock_);
  can_diverge = device() && !has(kOwnValue | kUnusable);
  if (has(kHostCurrent))
    return true;
  set_newer(true);
  return !has(kWritten) && activity.none_since(born_); // memory that nobody has written to (decision 33)
}

void Object::meet(bool is_over) {
  std::unique_ptr<Diverged> over; // until the lock is released
  const std::lock_guard guard(lock_);
  put(kWritten, true);
  if (!is_over)
    return;
  over = std::move(diverged_);
  set_newer(false);
}

// ---- events ----

EventPtr Object::pending_write(Events& over) {
  const std::lock_guard guard(lock_);
  if (!has(kQueued))
    return nullptr;
  Details& own = make_details();
  if (is_over(own.written) && std::all_of(own.users.begin(), own.users.end(), is_over)) {
    over.push_back(std::move(own.written));
    std::move(own.users.begin(), own.users.end(), std::back_inserter(over));
    own.users.clear();
    put(kQueued, false);
    return nullptr;
  }
  return is_over(own.written) ? nullptr : own.written;
}

EventPtr Object::last_write() const {
  const std::lock_guard guard(lock_);
  return has(kQueued) ? details()->written : nullptr;
}

void Object::note_write(const EventPtr& filled, Events& over) {
  const std::lock_guard guard(lock_);
  if (state_ == State::kGone) // the construct has it depart, and nobody finds it any more
    return;
  put(kQueued, true);
  if (EventPtr& written = make_details().written; written != filled)
    over.push_back(std::exchange(written, filled));
}

void Object::note_use(const EventPtr& ended, Events& over) {
  const std::lock_guard guard(lock_);
  if (state_ == State::kGone)
    return;
  put(kQueued, true);
  Events& users = make_details().users;
  std::erase_if(users, [&](EventPtr& user) {
    const bool has_ended = user->is_done();
    if (has_ended)
      over.push_back(std::move(user));
    return has_ended;
  });
  if (users.empty() || users.back() != ended)
    users.push_back(ended);
}

// ---- pointers and parts ----

Object::Attached Object::attach(std::uintptr_t cell, void* value, std::uintptr_t pointee, bool possible) {
  const std::lock_guard guard(lock_);
  AttachedPointer& known = make_details().pointers[cell];
  if (known.arrived && (known.device_value == value || !value)) {
    if (value) // another object may have got the memory of the one before
      known.pointee = pointee;
    return Attached::kKnown;
  }
  known = {value, pointee, possible};
  return Attached::kNew;
}

void Object::detach(std::uintptr_t cell) {
  const std::lock_guard guard(lock_);
  make_details().pointers[cell].arrived = false;
}

bool Object::has_pointers() const {
  const std::lock_guard guard(lock_);
  return details() && !details()->pointers.empty();
}

std::vector<HostRange> Object::pointers(HostRange range) const {
  std::vector<HostRange> found;
  const std::lock_guard guard(lock_);
  if (!details())
    return found;
  const AttachedPointers& all = details()->pointers;
  // A pointer that begins before the range may reach into it.
  for (auto at = all.lower_bound(range.begin - std::min(range.begin, sizeof(void*) - 1));
       at != all.end() && at->first < range.end; ++at)
    found.push_back({at->first, at->first + sizeof(void*)});
  return found;
}

std::vector<std::uintptr_t> Object::pointees() const {
  std::vector<std::uintptr_t> found;
  const std::lock_guard guard(lock_);
  if (details())
    for (const auto& [cell, pointer] : details()->pointers)
      found.push_back(pointer.pointee);
  return found;
}

void Object::note_part(HostRange part) {
  const std::lock_guard guard(lock_);
  if (has(kEnclosing))
    make_details().parts.add(part);
}

std::vector<HostRange> Object::parts() const {
  const std::lock_guard guard(lock_);
  if (!has(kEnclosing))
    return {host_};
  return details() ? details()->parts.all() : std::vector<HostRange>();
}

void Object::set_separate(Count count) {
  const std::lock_guard guard(lock_);
  put(kSeparate, true);
  add_count(count);
}

} // namespace omptool
