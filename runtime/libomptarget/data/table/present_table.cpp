// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/present_table.h"

namespace omptool {
using State = Object::State;

PresentTable::Lock::~Lock() {
  lock_.unlock();
  for (Object* const one : gone_)
    table_.records_.recycle(*one);
}

void PresentTable::Lock::wait_for(Object& object) {
  if (!object.await())
    return;
  table_.changed_.wait(lock_);
  observe::note_pause();
}

// ---- exact matches ----

Answer PresentTable::create(const Row& row, const void* call) {
  Lock lock(*this);
  const HostRange host = range_of(row);
  if (!departures_.pending(host).empty())
    return {};
  Object* const created = insert({.host = host,
                                  .maker = call,
                                  .base = base_of(row),
                                  .references = 1,
                                  .written = row.has(kTo)}, // once it is filled
                                 lock);
  return created ? Answer{Answer::Kind::kNew, created} : Answer{};
}

// ---- all matches ----

Answer PresentTable::find(HostRange wanted, Lock& lock, Count count, Count if_separate) {
  for (;;) {
    const Lookup found = objects_.find(wanted);
    if (found.overlap == Overlap::kNone)
      return {};
    const bool is_whole = found.overlap == Overlap::kWhole;
    const State state = is_whole ? found.object->pin(count, if_separate) : found.object->state();
    if (state == State::kLeaving)
      return {Answer::Kind::kLeaving, found.object};
    if (state != State::kVacant)
      return {is_whole ? Answer::Kind::kPresent : Answer::Kind::kPartial, found.object};
    if (found.object->end_vacancy()) // else it is being filled
      erase(*found.object, lock);
  }
}

Answer PresentTable::find_section(const void* address, bool is_meant, Lock& lock, Count count) {
  if (!address)
    return {};
  if (!is_meant)
    return find(HostRange::of(address, 1), lock, count);
  for (;;) {
    Object* const found = objects_.find_section(address);
    if (!found)
      return {};
    const State state = found->pin(count);
    if (state == State::kLeaving)
      return {Answer::Kind::kLeaving, found};
    if (state != State::kVacant)
      return {Answer::Kind::kPresent, found};
    if (found->end_vacancy()) // else it is being filled
      erase(*found, lock);
  }
}

// ---- changes ----

Object* PresentTable::insert(Object::Beginning&& with, Lock&) {
  const HostRange host = with.host;
  Object& object = records_.take();
  if (!objects_.insert(host, object)) {
    records_.recycle(object);
    return nullptr;
  }
  const std::uint64_t born = with.written ? 0 : activity_.birth();
  object.begin(std::move(with), with.maker ? &memory_ : nullptr, born);
  hints_.add(host.begin, object);
  regions_.add(host);
  return &object;
}

void PresentTable::erase(Object& object, Lock& lock) {
  if (take_from_table(object, true, lock))
    lock.gone_.push_back(&object);
}

bool PresentTable::take_from_table(Object& object, bool is_over, Lock&) {
  const bool is_kept = object.is_kept();
  const Object::Removed removed = object.remove(is_over);
  forget(object, is_kept, removed);
  return removed.is_last;
}

// Takes a record that is gone out of the books.
void PresentTable::forget(const Object& object, bool is_kept, Object::Removed removed) {
  kept_ -= is_kept ? 1 : 0;
  hints_.erase(object.host().begin, object);
  regions_.remove(object.host());
  objects_.erase(object);
  if (removed.is_awaited)
    changed_.notify_all();
}

// Drops the object's place, if it has not departed, and its device memory, unless others look at it. The record is
// recycled without a list of such: an allocation here made objects leave 1.2 times as slowly.
std::byte* PresentTable::take_out(Object& object, std::string_view region) {
  Object::Parted parted;
  {
    Lock lock(*this);
    if (kept_ < kMostKept)
      if (const Object::Vacated vacated = object.keep_vacant(parted.device); vacated != Object::Vacated::kNo) {
        ++kept_;
        if (vacated == Object::Vacated::kAwaited)
          changed_.notify_all();
        return parted.device;
      }
    const bool is_kept = object.is_kept();
    parted = object.part(region);
    if (parted.was_in_table)
      forget(object, is_kept, parted.removed);
  }
  if (parted.removed.is_last)
    records_.recycle(object);
  return parted.device;
}

void PresentTable::depart(Object& object, const EventPtr& ended, Lock& lock) {
  departures_.add(object.host(), ended, lock.over_);
  take_from_table(object, false, lock);
}

void PresentTable::wake() {
  {
    const std::lock_guard lock(mutex_); // whoever waits holds it until it sleeps
  }
  changed_.notify_all();
}

} // namespace omptool
