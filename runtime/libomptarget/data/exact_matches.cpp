// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/exact_matches.h"

#include "data/table/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace omptool {
namespace {

constexpr unsigned kMostVacant = 4; // of a shard

// A row that needs nothing but its object's count and a copy when that is new or goes.
bool is_plain(const Row& row) {
  constexpr std::uint32_t kPlain = kTo | kFrom | kCounts | kArgument | kSection | kImplicit | kHostIfAbsent | kClose;
  return row.has(kCounts) && !row.any(~kPlain) && row.size > 0;
}

// What the program's pointer to a new object is: its beginning, or before that.
std::uintptr_t base_of(const Row& row) {
  return reinterpret_cast<std::uintptr_t>(std::min(row.base, row.begin));
}

// Nothing is left to tell from a record that has never been filled.
bool can_be_vacant(const Mapping& mapping) {
  return mapping.owner && !mapping.host_current && !mapping.details() && !mapping.enclosing && mapping.padding == 0;
}

// Nobody looks at it but the call that has it leave: a share of the table and a pin of the call are all.
bool is_last_user(const Mapping& mapping) {
  return mapping.pins == 1 && mapping.shares.load(std::memory_order_acquire) == 1;
}

// Bytes move as they are, at once and without pointers that mean something else on the device.
bool copies_plainly(const Mapping& mapping) {
  return mapping.device && !mapping.own_value &&
         (!mapping.details() || (mapping.details()->pointers.empty() && !mapping.queued));
}

// Whether this call gives up the row's object; several rows may name it.
bool gives_up(KnownObjects& bound, std::size_t index) {
  return bound[index].leaving ||
         (bound[index].object && std::any_of(bound.begin(), bound.end(), [&](const KnownObject& one) {
            return one.leaving && one.object == bound[index].object;
          }));
}

} // namespace

// Finds the row's object and counts the row's reference. kFresh: it is the caller's to fill.
ExactMatches::Claim ExactMatches::claim(const Row& row, bool may_create, KnownObject& object) {
  const HostRange wanted = range_of(row);
  ObjectIndex::Shard& shard = table_.index().shard_of(wanted.begin);
  {
    const std::lock_guard lock(shard.lock);
    Mapping* const known = ObjectIndex::find(shard, wanted.begin);
    if (known && (known->host.end < wanted.end || known->unusable || known->enclosing || known->queued))
      return Claim::kNo;
    if (known && known->state == Mapping::State::kReady) {
      ++known->references;
      ++known->pins;
      object.object = known;
      return Claim::kHeld;
    }
    if (!may_create || sharing_.any() || (known && known->state != Mapping::State::kVacant))
      return Claim::kNo;
    if (known) {
      if (known->host.end != wanted.end || known->base != base_of(row))
        return Claim::kNo;
      --shard.vacant;
      known->state = Mapping::State::kCreating;
      known->references = 1;
      ++known->pins;
      known->written = false;
      if (!row.has(kTo)) // else it will have been written to
        known->born = activity_.birth();
      object = {.object = known, .fresh = true};
      return Claim::kFresh;
    }
  }
  return create(row, object);
}

ExactMatches::Claim ExactMatches::create(const Row& row, KnownObject& object) {
  MappingPtr created = MappingPtr::make(range_of(row), nullptr, &memory_);
  created->state = Mapping::State::kCreating;
  created->references = 1;
  created->pins = 1;
  created->base = base_of(row);
  if (!row.has(kTo)) // else it will have been written to
    created->born = activity_.birth();
  Mapping* const fresh = created.get();
  PresentTable::Lock lock(table_);
  if (table_.is_departing(fresh->host, lock) || !table_.add(std::move(created), lock))
    return Claim::kNo;
  object = {.object = fresh, .fresh = true};
  return Claim::kFresh;
}

// Gives a fresh object its memory and its bytes, also those that only other rows of the call bring. One
// that the device does not take is for the host alone.
void ExactMatches::fill(const Row& row, Rows others, KnownObject& object) {
  Mapping& mapping = *object.object;
  std::byte* const device = memory_.allocate(row.size, row.begin);
  bool written = row.has(kTo);
  bool filled = device && (!written || memory_.submit(device, row.begin, row.size));
  for (const Row& other : row.has(kTo) ? Rows() : others) {
    const HostRange part = HostRange::of(other.begin, other.size);
    if (!filled || !other.has(kTo) || !other.maps() || !mapping.host.contains(part))
      continue;
    filled = memory_.submit(device + (part.begin - mapping.host.begin), other.begin, other.size);
    written = true;
  }
  bool awaited = false;
  {
    ObjectIndex::Shard& shard = table_.index().shard_of(mapping.host.begin);
    const std::lock_guard lock(shard.lock);
    mapping.device = device;
    mapping.written = written;
    ObjectIndex::note_device(shard, mapping);
    if (!filled) {
      table_.set_unusable(mapping);
      table_.set_host_current(mapping, true);
    }
    mapping.state = Mapping::State::kReady;
    awaited = std::exchange(mapping.awaited, false);
  }
  if (awaited)
    table_.wake();
}

// Whether the pointer may have to lead to a new object: it is mapped itself, now or by this call.
bool ExactMatches::may_attach(const Row& pointer, Rows rows) const {
  if (!pointer.base || pointer.size <= 0)
    return true;
  const HostRange cell = HostRange::of(pointer.base, pointer.size);
  return table_.may_hold(cell) || std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
           return row.maps() && range_of(row).overlaps(cell);
         });
}

bool ExactMatches::begin_known(Rows rows, KnownObjects& bound) {
  bool may_create = true;
  for (const Row& row : rows) {
    if (row.has(kAttach) && !row.has(kAlways))
      may_create = may_create && !may_attach(row, rows);
    else if (!row.has(kValue) && !is_plain(row))
      return false;
  }
  bool all = !table_.any_host_current();
  for (std::size_t i = 0; i < rows.size() && all; ++i)
    if (rows[i].maps())
      all = claim(rows[i], may_create, bound[i]) != Claim::kNo;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (bound[i].fresh) {
      fill(rows[i], all ? Rows() : rows, bound[i]); // if all are found, no two rows name what is new
      all = all && !bound[i].object->unusable;      // nobody else changes it before this call lets it go
    }
  return all;
}

// Takes hold of the objects without counting. False: some row needs the table; hold of others may have
// been taken.
bool ExactMatches::pin_known(Rows rows, KnownObjects& bound, bool updates) {
  if (!std::all_of(rows.begin(), rows.end(), is_plain))
    return false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const HostRange wanted = HostRange::of(rows[i].begin, rows[i].size);
    ObjectIndex::Shard& shard = table_.index().shard_of(wanted.begin);
    const std::lock_guard lock(shard.lock);
    Mapping* const known = ObjectIndex::find(shard, wanted.begin);
    if (!known || known->host.end < wanted.end || known->state != Mapping::State::kReady || known->queued)
      return false;
    if (updates && known->host_current) // the two sides have to be brought together
      return false;
    ++known->pins;
    bound[i].object = known;
    bound[i].host_current = known->host_current;
    bound[i].plain = copies_plainly(*known);
    known->written = known->written || (updates && rows[i].has(kTo));
  }
  return true;
}

// The caller holds the shard's lock. Returns the record's own share in itself if nobody else has one.
MappingPtr ExactMatches::unpin(Mapping& mapping) {
  if (--mapping.pins == 0 && mapping.state == Mapping::State::kGone)
    return std::move(mapping.self);
  return {};
}

void ExactMatches::let_go(KnownObjects& bound) {
  for (KnownObject& one : bound)
    if (one.object) {
      MappingPtr last; // given up without the lock
      const auto guard = table_.guard(*one.object);
      last = unpin(*one.object);
    }
  memory_.free_discarded();
}

void ExactMatches::end_known(Rows rows, KnownObjects& bound, Release release, const std::string& region) {
  bool any_leaving = false;
  for (std::size_t i = rows.size(); i-- > 0;)
    if (bound[i].object)
      any_leaving = drop_known(bound[i]) || any_leaving;
  if (!any_leaving)
    return;
  for (std::size_t i = rows.size(); i-- > 0;)
    if (gives_up(bound, i) && rows[i].has(kFrom) && !(release == Release::kAbandoned && bound[i].fresh))
      copy_back(bound[i], rows[i], region);
  for (KnownObject& one : bound)
    if (one.leaving)
      leave(*one.object, region);
}

// True: it was the last reference, and the object is the caller's to give up.
bool ExactMatches::drop_known(KnownObject& known) {
  MappingPtr last; // given up without the lock
  Mapping& mapping = *known.object;
  {
    const auto guard = table_.guard(mapping);
    known.host_current = mapping.host_current;
    if (!mapping.infinite && mapping.references > 0)
      --mapping.references;
    known.leaving =
        !mapping.infinite && mapping.references == 0 && mapping.holds == 0 && mapping.state == Mapping::State::kReady;
    if (known.leaving) {
      mapping.state = Mapping::State::kLeaving;
      known.plain = copies_plainly(mapping);
    } else {
      last = unpin(mapping);
    }
  }
  if (last) [[unlikely]]
    give_back(std::move(last));
  return known.leaving;
}

void ExactMatches::wait_for_users(const Mapping& mapping) {
  std::vector<EventPtr> users;
  {
    const auto guard = table_.guard(mapping);
    users = mapping.pending();
  }
  for (const EventPtr& user : users)
    user->wait();
}

// No lock is held.
void ExactMatches::give_back(MappingPtr share) {
  share = nullptr;
  memory_.free_discarded();
}

bool ExactMatches::fetch_now(Mapping& mapping, HostRange range) {
  wait_for_users(mapping); // asynchronous calls that have come since this one began
  CommandList commands(memory_);
  const bool queued = diverged_.fetch(mapping, range, commands);
  return commands.wait().empty() && queued;
}

void ExactMatches::copy_back(const KnownObject& known, const Row& row, const std::string& region) {
  const Mapping& mapping = *known.object;
  const HostRange range = range_of(row);
  const bool copied = known.plain && !known.host_current
                          ? memory_.retrieve(row.begin, mapping.at(range.begin), row.size)
                          : fetch_now(*known.object, range);
  if (!copied)
    die("%s%s%scopying back the object at %s failed%s", region.empty() ? "" : "region ", region.c_str(),
        region.empty() ? "" : ": ", describe(range_of(row)).c_str(), memory_.last_error().c_str());
}

// The end of an object, whose bytes are where they belong.
void ExactMatches::leave(Mapping& mapping, const std::string& region) {
  std::byte* device = nullptr;
  bool awaited = false;
  bool vacant = false;
  const HostRange host = mapping.host; // a vacant record is anybody's
  ObjectIndex::Shard& shard = table_.index().shard_of(host.begin);
  {
    const std::lock_guard lock(shard.lock);
    vacant = shard.vacant < kMostVacant && can_be_vacant(mapping) && is_last_user(mapping);
    if (vacant) {
      ++shard.vacant;
      mapping.pins = 0;
      device = std::exchange(mapping.device, nullptr);
      table_.set_sound(mapping);
      mapping.state = Mapping::State::kVacant;
      awaited = std::exchange(mapping.awaited, false);
    }
  }
  if (awaited)
    table_.wake();
  if (device)
    memory_.release(device, host.address(), host.size(), region);
  if (vacant)
    return;
  give_back(take_out(mapping, region, device));
  if (device)
    memory_.release(device, host.address(), host.size(), region);
}

// Gives up the call's pin and the object's place; its device memory too, unless others look at it.
MappingPtr ExactMatches::take_out(Mapping& mapping, const std::string& region, std::byte*& device) {
  PresentTable::Lock lock(table_);
  lock.touch(mapping);
  if (!is_last_user(mapping))
    mapping.make_details().released_by = region;
  else if (mapping.device)
    device = std::exchange(mapping.device, nullptr) - mapping.padding;
  --mapping.pins;
  return table_.remove(mapping, lock);
}

// Copies under the lock: it takes no longer than to pin the object. False: another way must be found.
bool ExactMatches::update_few_bytes(void* host, std::int64_t size, bool to, bool from) {
  constexpr std::int64_t kFew = 256;
  if (size > kFew || !memory_.moves_itself())
    return false;
  const HostRange wanted = HostRange::of(host, size);
  ObjectIndex::Shard& shard = table_.index().shard_of(wanted.begin);
  const std::lock_guard lock(shard.lock);
  Mapping* const known = ObjectIndex::find(shard, wanted.begin);
  if (!known || known->host.end < wanted.end || known->state != Mapping::State::kReady || known->host_current ||
      known->queued || !copies_plainly(*known))
    return false;
  // memmove: of memcpy, gcc makes a string instruction here, which takes longer than the call.
  if (to) {
    std::memmove(known->device, host, static_cast<std::size_t>(size));
    known->written = true;
  }
  if (from)
    std::memmove(host, known->device, static_cast<std::size_t>(size));
  return true;
}

bool ExactMatches::update_known(Rows rows) {
  if (rows.size() == 1 && is_plain(rows[0]) && !observe::may_be_heard() &&
      update_few_bytes(rows[0].begin, rows[0].size, rows[0].has(kTo), rows[0].has(kFrom)))
    return true;
  KnownObjects bound(rows.size());
  const bool all = pin_known(rows, bound, true);
  for (std::size_t i = 0; i < rows.size() && all; ++i) {
    if (rows[i].has(kTo))
      update_one(Direction::kToDevice, bound[i], rows[i]);
    if (rows[i].has(kFrom))
      update_one(Direction::kToHost, bound[i], rows[i]);
  }
  let_go(bound);
  return all;
}

void ExactMatches::update_one(Direction direction, const KnownObject& known, const Row& row) {
  const Mapping& mapping = *known.object;
  const HostRange range = range_of(row);
  std::byte* const device = mapping.at(range.begin);
  const bool to = direction == Direction::kToDevice;
  if (!known.plain ? transfers_.copy_now(direction, mapping, range)
      : to         ? memory_.submit(device, row.begin, row.size)
                   : memory_.retrieve(row.begin, device, row.size))
    return;
  die("updating %sthe object at %s %s%s", to ? "the device's copy of " : "", describe(range_of(row)).c_str(),
      to ? "failed" : "from the device failed", memory_.last_error().c_str());
}

void* ExactMatches::known_argument(const Row& row, const KnownObject& known) const {
  if (row.has(kValue))
    return row.base;
  const Mapping& object = *known.object;
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(row.base) - object.host.begin;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(object.device) + offset);
}

} // namespace omptool
