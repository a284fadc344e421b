// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/binder.h"

#include "data/struct_parts.h"
#include "data/table/mapping_fault.h"
#include "data/table/range_set.h"
#include "data/table/row_ranges.h"
#include "process/message.h"

#include <algorithm>

namespace omptool {
namespace {

using Lock = PresentTable::Lock;
using Kind = Answer::Kind;

std::ptrdiff_t padding_of(HostRange enclosing) {
  return static_cast<std::ptrdiff_t>(enclosing.begin % kStructAlignment);
}

Row without(Row row, std::uint32_t flags) {
  row.flags &= ~flags;
  return row;
}

Count count_of(const Row& row) {
  return row.has(kHold) ? Count::kHold : Count::kReference;
}

// Tells if a row of the call maps something of its own in `larger`, beside what is in `reserved`.
bool any_other(Rows rows, HostRange larger, HostRange reserved) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row.maps() && row.has(kCounts) && !row.has(kPointer) && row.size > 0 && range_of(row).overlaps(larger) &&
           !reserved.contains(range_of(row));
  });
}

// Binds all rows of a construct by the table's lock.
class BindStep {
public:
  BindStep(PresentTable& table, const Sharing& sharing, Rows rows, MappedArguments& mapped, Lock& lock)
      : table_(table), sharing_(sharing), rows_(rows), mapped_(mapped), lock_(lock), parts_(rows) {}

  // A position is taken in one step: whoever waits in the midst of it would come after one construct by one object, and
  // before it by another. So a construct keeps nothing that it has made while it waits for an object that leaves.
  void bind() {
    while (!bind_all()) {
      take_back();
      lock_.wait_for(*blocking_);
      blocking_ = nullptr;
    }
    note_objects();
  }
  // Binds rows that release or update what earlier calls have mapped. False: blocking() has to be waited for.
  bool bind_known(bool updates) {
    for (std::size_t i = 0; i < rows_.size() && !blocking_; ++i)
      bind_known(rows_[i], mapped_.arguments[i], updates);
    return !blocking_;
  }
  // Returns the object that the caller waits for when it has let go of everything.
  Object& blocking() { return *blocking_; }

private:
  bool bind_all() {
    for (std::size_t i = 0; i < rows_.size() && !blocking_; ++i)
      if (rows_[i].maps())
        bind_counted(i);
    for (std::size_t i = 0; i < rows_.size() && !blocking_; ++i)
      if (rows_[i].has(kAttach))
        bind_attached(rows_[i], mapped_.arguments[i]);
      else if (rows_[i].maps() && !rows_[i].has(kCounts))
        bind_part(rows_[i], mapped_.arguments[i]);
    return !blocking_;
  }
  void take_back();

  // ---- finding ----

  Answer found(Answer answer) {
    if (answer.is(Kind::kLeaving))
      blocking_ = answer.object;
    return answer;
  }
  Answer find(HostRange wanted, Count count = Count::kNone, Count if_separate = Count::kNone) {
    return found(table_.find(wanted, lock_, count, if_separate));
  }
  Object* find_section(const Row& row, Count count = Count::kNone) {
    const Answer answer = found(table_.find_section(empty_section(row), row.has(kSection), lock_, count));
    return answer.is(Kind::kPresent) ? answer.object : nullptr;
  }
  // Pins an object that serves the row in part.
  Object* take_part(Object& object, Count count, Count if_separate) {
    const Object::State state = object.pin(count, if_separate);
    if (state == Object::State::kFilling || state == Object::State::kPresent)
      return &object;
    blocking_ = &object; // it has begun to leave
    return nullptr;
  }
  Object* find_for(const Row& row, HostRange wanted, Count count, Count if_separate = Count::kNone);
  Object* find_known(const Row& row, HostRange wanted);
  Object* obtain(const Row& row, HostRange wanted, Count count, std::ptrdiff_t padding = 0);
  Object* grow(Object& variable, HostRange wanted, Count count);

  // ---- rows ----

  HostRange reserved_range(std::size_t index);
  bool leads_to_host(const Row& row);
  Object* bind_object(std::size_t index, Argument& argument);
  void bind_counted(std::size_t index);
  Object* obtain_part(const Row& row, HostRange wanted);
  void bind_part(const Row& row, Argument& argument);
  void bind_attached(const Row& row, Argument& argument);
  void bind_known(const Row& row, Argument& argument, bool updates);
  bool is_enclosing(const Row& row, HostRange enclosing) const {
    return row.has(kCounts) && !row.any(kTo | kFrom | kPointer) && parts_.any_in(enclosing);
  }
  void note_part(std::size_t index);
  void note_objects();

  PresentTable& table_;
  const Sharing& sharing_;
  const Rows rows_;
  MappedArguments& mapped_;
  Lock& lock_;
  const StructParts parts_;
  Object* blocking_ = nullptr; // leaves, or is filled by another call: nothing can be bound before
};

// ---- finding ----

// The table has the first bytes of a variable, until a row names more. Null: something else is there.
Object* BindStep::grow(Object& variable, HostRange wanted, Count count) {
  const HostRange larger = enclosing_range(variable.host(), wanted);
  if (table_.overlapping(larger, lock_).size() > 1)
    return nullptr;
  const Object::Snapshot before = variable.snapshot();
  Object::Beginning grown{.host = larger,
                          .device = static_cast<std::byte*>(larger.address()),
                          .references = before.references,
                          .holds = before.holds,
                          .infinite = true,
                          .own_value = true,
                          .name = variable.name()};
  table_.erase(variable, lock_);
  Object* const object = table_.insert(std::move(grown), lock_);
  object->pin(count);
  return object;
}

// Returns the object that holds `wanted`, or null; it is a fault when the row maps more than is there, if that is a
// copy.
Object* BindStep::find_for(const Row& row, HostRange wanted, Count count, Count if_separate) {
  const Answer there = find(wanted, count, if_separate);
  switch (there.kind) {
  case Kind::kAbsent:
    if (row.has(kPresent) && sharing_.needs_copy(row))
      throw absence(wanted);
    return nullptr;
  case Kind::kPartial:
    if (there.object->is_in_place())
      return there.object->is_named() ? grow(*there.object, wanted, count) : nullptr;
    if (!row.has(kImplicit))
      throw extension(wanted, *there.object, row.has(kPresent));
    return take_part(*there.object, count, if_separate);
  default:
    return there.is(Kind::kLeaving) ? nullptr : there.object;
  }
}

// Finds the object where nothing is to be created: on LLVM, what is there in part is not there.
Object* BindStep::find_known(const Row& row, HostRange wanted) {
  const Answer there = find(wanted);
  if (there.is(Kind::kPresent))
    return there.object;
  if (!there.is(Kind::kPartial) || there.object->is_in_place())
    return nullptr;
  if (!row.any(kImplicit | kSection))
    throw extension(wanted, *there.object);
  return row.has(kImplicit) ? take_part(*there.object, Count::kNone, Count::kNone) : nullptr;
}

// Returns the object that holds `wanted`, created if absent, without memory so far. On a device that uses the host's
// memory an object may be that memory; null: only part of it is there.
Object* BindStep::obtain(const Row& row, HostRange wanted, Count count, std::ptrdiff_t padding) {
  Object* const known = find_for(row, wanted, count);
  if (known || blocking_ || (sharing_.any() && !table_.overlapping(wanted, lock_).empty()))
    return known;
  Object::Beginning made{.host = wanted,
                         .padding = padding,
                         .references = count == Count::kReference ? 1 : 0,
                         .holds = count == Count::kHold ? 1 : 0};
  const bool is_in_place = !sharing_.needs_copy(row);
  if (is_in_place) {
    made.device = static_cast<std::byte*>(wanted.address());
    made.own_value = true;
  } else {
    made.maker = mapped_.call();
  }
  Object* const object = table_.insert(std::move(made), lock_);
  if (is_in_place)
    object->pin();
  return object;
}

// ---- rows ----

// Returns the range that the row is to create: its own and, of the parts of its struct that lie beside it, those
// between which and it nothing else is mapped (decision 30).
HostRange BindStep::reserved_range(std::size_t index) {
  HostRange reserved = range_of(rows_[index]);
  for (std::size_t i = index + 1; i < rows_.size() && rows_[i].has(kReserve) && !blocking_; ++i) {
    const HostRange larger = enclosing_range(reserved, range_of(rows_[i]));
    if (any_other(rows_, larger, reserved))
      continue;
    const Answer there = find(larger);
    if (there.is(Kind::kPresent))
      lock_.unpin(*there.object);
    if (!there.is(Kind::kPartial))
      reserved = larger;
  }
  return reserved;
}

// Tells if kernels find the host's pointee by the pointer of the row: they read it in the host's memory, or it is that
// by which they reach a variable.
bool BindStep::leads_to_host(const Row& row) {
  if (!sharing_.any() || !row.has(kPointer) || row.has(kCounts))
    return false;
  const Answer cell = find(cell_of(row));
  if (!cell.is(Kind::kPresent))
    return true;
  const Object& object = *cell.object;
  const bool leads = object.is_in_place() || (object.is_named() && object.has_own_value());
  lock_.unpin(*cell.object);
  return leads;
}

Object* BindStep::bind_object(std::size_t index, Argument& argument) {
  const Row& row = rows_[index];
  const HostRange reserved = reserved_range(index);
  if (blocking_)
    return nullptr;
  if (reserved.size() == 0) {
    Object* const object = find_section(row, count_of(row));
    if (!object && !blocking_ && row.has(kPresent) && sharing_.needs_copy(row))
      throw absence(HostRange::of(empty_section(row), 0));
    return object;
  }
  const Row wanted = leads_to_host(row) ? without(row, kClose) : row;
  if (blocking_)
    return nullptr;
  Object* const object =
      obtain(wanted, reserved, count_of(row), is_enclosing(row, reserved) ? padding_of(reserved) : 0);
  const void* const base = row.has(kPointer) ? argument.pointer : row.base;
  if (object && base < reserved.address() && object->host().begin == reserved.begin &&
      object->standing(mapped_.call()).is_own)
    object->set_base(reinterpret_cast<std::uintptr_t>(base));
  return object;
}

void BindStep::bind_counted(std::size_t index) {
  const Row& row = rows_[index];
  Argument& argument = mapped_.arguments[index];
  if (!row.any(kPointer | kCounts))
    return;
  if (row.has(kPointer))
    argument.pointer = pointer_value(row);
  if (!argument.object)
    argument.object.known = bind_object(index, argument);
  // The pointee must be present, which says nothing about its pointer.
  if (row.has(kPointer | kCounts) && !argument.cell && !blocking_)
    argument.cell.known = obtain(without(row, kPresent | kImplicit), cell_of(row), count_of(row));
}

// A part of a struct, or a pointer's cell, for which no row has room. LLVM's programs map it all the same
// (decision 30).
Object* BindStep::obtain_part(const Row& row, HostRange wanted) {
  Object* part = find_for(row, wanted, Count::kNone, count_of(row));
  if (part || blocking_ || sharing_.any())
    return part;
  if (row.has(kSection) && !is_lookup(row)) {
    part = obtain(row, wanted, Count::kNone);
    if (part)
      part->set_separate(count_of(row));
  } else if (!row.has(kImplicit)) {
    say("the runtime ignores the row of %p (%lld bytes): no row that counts maps the struct of which it is part",
        wanted.address(), static_cast<long long>(wanted.size()));
  }
  return part;
}

void BindStep::bind_part(const Row& row, Argument& argument) {
  ArgumentObject& place = row.has(kPointer) ? argument.cell : argument.object;
  const HostRange wanted = place_of(row);
  if (place)
    return;
  if (wanted.size() > 0)
    place.known = obtain_part(row, wanted);
  else if (row.has(kSection))
    place.known = find_section(row);
}

// A pointer that is to be attached if either side of it is new: nothing is counted, and either may be
// absent.
void BindStep::bind_attached(const Row& row, Argument& argument) {
  if (!row.base || !row.begin || row.size < kPointerSize)
    return;
  argument.pointer = pointer_value(row);
  const Answer cell = find(HostRange::of(row.base, row.size));
  argument.cell.known = cell.is(Kind::kPresent) ? cell.object : nullptr;
  if (!blocking_)
    argument.object.known = find_section(row);
}

// Lets go of what the construct has made, which nobody has seen, and of what it does not count: that may change
// meanwhile. It keeps its counts.
void BindStep::take_back() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    Argument& argument = mapped_.arguments[i];
    for (ArgumentObject* const one : argument.both()) {
      if (!*one)
        continue;
      const bool is_counted =
          row.maps() && (row.has(kCounts) || (row.has(kPointer) && one == &argument.object) || (*one)->is_separate());
      if ((*one)->standing(mapped_.call()).is_own)
        table_.erase(**one, lock_);
      if (is_counted && (*one)->state() != Object::State::kGone)
        continue;
      lock_.unpin(**one);
      *one = {};
    }
  }
}

// ---- facts of a construct's objects ----

// Keeps account of which parts of a struct the program maps: the holes of an enclosing range hold nothing.
void BindStep::note_part(std::size_t index) {
  const Row& row = rows_[index];
  const ArgumentObject& object = mapped_.arguments[index].object;
  const bool is_first = object.fresh && object->is_first_look();
  if (is_lookup(row))
    return;
  const HostRange part = range_of(row);
  if (const HostRange enclosing = is_first ? object->host() : part; is_enclosing(row, enclosing)) {
    if (is_first && parts_.bound(enclosing)) // else it is its creator's, who reads it without the lock
      object->enclose();
    return;
  }
  if (part.size() > 0)
    object->note_part(part);
}

void BindStep::note_objects() {
  RangeSet copied; // to the construct's own objects
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Argument& argument = mapped_.arguments[i];
    for (ArgumentObject* const one : argument.both()) {
      if (!*one)
        continue;
      const Object::Standing standing = (*one)->standing(mapped_.call());
      one->fresh = one->fresh || standing.is_own;
      mapped_.creates = mapped_.creates || one->fresh;
      mapped_.lacks = mapped_.lacks || !standing.is_usable;
      mapped_.awaits = mapped_.awaits || !(standing.is_filled || standing.is_own);
    }
    if (!rows_[i].maps() || !argument.object)
      continue;
    note_part(i);
    if (!argument.object.fresh)
      continue;
    const HostRange there = common(range_of(rows_[i]), argument.object->host());
    argument.repeated = copied.contains(there);
    if (rows_[i].has(kTo))
      copied.add(there);
  }
}

// ---- what earlier calls have mapped ----

void BindStep::bind_known(const Row& row, Argument& argument, bool updates) {
  if (!row.maps() || (updates && row.size == 0))
    return;
  const HostRange wanted = row.size == 0 ? HostRange::of(empty_section(row), 0) : range_of(row);
  argument.object.known = row.size == 0 ? find_section(row) : find_known(row, wanted);
  if (blocking_)
    return;
  // For an update nothing less will do, even if the device can use the host's memory.
  if (!argument.object && row.has(kPresent) && !(updates ? sharing_.is_only() : sharing_.any()))
    throw absence(wanted, updates ? "motion" : "map type");
  if (row.has(kPointer) && !updates) {
    const Answer cell = find(cell_of(row));
    if (cell.is(Kind::kPresent) && (row.has(kCounts) || cell.object->is_separate()))
      argument.cell.known = cell.object;
    else if (cell.is(Kind::kPresent))
      lock_.unpin(*cell.object);
  }
  for (ArgumentObject* const one : argument.both())
    if (*one && !blocking_ && !(*one)->standing(mapped_.call()).is_filled)
      blocking_ = *one;
  if (!updates || blocking_ || !argument.object)
    return;
  argument.host_current = argument.object->is_newer_on_host();
  if (row.has(kTo))
    argument.object->note_written();
}

} // namespace

// ---- exact matches ----

// Tells if the pointer may have to lead to a new object: it is mapped itself, now or by this call.
bool Binder::may_attach(const Row& pointer, Rows rows) const {
  if (!pointer.base || pointer.size <= 0)
    return true;
  const HostRange cell = HostRange::of(pointer.base, pointer.size);
  return table_.may_hold(cell) || std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
           return row.maps() && range_of(row).overlaps(cell);
         });
}

bool Binder::needs_no_lock(Rows rows, bool& may_create) const {
  for (const Row& row : rows) {
    if (row.has(kAttach) && !row.has(kAlways))
      may_create = may_create && !may_attach(row, rows);
    else if (!row.has(kValue) && !is_plain(row))
      return false;
  }
  return true;
}

// ---- all matches ----

void Binder::bind(Rows rows, MappedArguments& mapped, Lock& lock) {
  BindStep(table_, sharing_, rows, mapped, lock).bind();
}

// Lets go of what has been found: others may have changed it.
void Binder::unbind(MappedArguments& mapped, Lock& lock) {
  for (Argument& argument : mapped.arguments) {
    for (ArgumentObject* const one : argument.both())
      if (*one)
        lock.unpin(**one);
    argument = {};
  }
}

void Binder::bind_known(Rows rows, MappedArguments& mapped, bool updates, Lock& lock) {
  for (;;) {
    unbind(mapped, lock);
    BindStep step(table_, sharing_, rows, mapped, lock);
    if (step.bind_known(updates))
      return;
    Object& blocking = step.blocking();
    unbind(mapped, lock);
    lock.wait_for(blocking);
  }
}

} // namespace omptool
