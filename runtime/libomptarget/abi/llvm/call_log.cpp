// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/call_log.h"

#include "abi/llvm/info.h"
#include "abi/llvm/source.h"
#include "data/table/row.h"
#include "process/message.h"

#include <utility>

namespace omptool::llvm {
namespace {

using observe::ObjectCopied;
using observe::ObjectSeen;
using observe::RowSeen;
using observe::RowsSeen;

constexpr std::int64_t kLast = std::int64_t{1} << 40; // after all rows

Row row_of(const RowSeen& seen) {
  return {const_cast<void*>(seen.base), const_cast<void*>(seen.begin), seen.size, seen.flags, nullptr};
}

HostRange range_of(const RowSeen& row) {
  return HostRange::of(row.begin, row.size);
}

bool has(const RowSeen& row, std::uint32_t flags) {
  return row_of(row).has(flags);
}

std::string count_of(const ObjectSeen& object, std::int64_t references) {
  return object.infinite ? "INF" : std::to_string(references);
}

// Both counts, with what happened to the one that the row is about.
std::string counts(const RowSeen& row, const ObjectSeen& object, std::int64_t count, const char* action) {
  const bool hold = has(row, kHold);
  return "DynRefCount=" + count_of(object, hold ? object.references : count) + (hold ? "" : action) +
         ", HoldRefCount=" + std::to_string(hold ? count : object.holds) + (hold ? action : "");
}

std::string place_in(const ObjectSeen& object, HostRange wanted) {
  return "HstPtrBegin=" + hex(wanted.begin) + ", TgtPtrBegin=" + hex(object.at(wanted.begin)) +
         ", Size=" + std::to_string(wanted.size());
}

std::string used(const RowSeen& row, const ObjectSeen& object, std::int64_t count, const char* action) {
  return "Mapping exists with " + place_in(object, range_of(row)) + ", " + counts(row, object, count, action);
}

std::int64_t count_now(const RowSeen& row, const ObjectSeen& object) {
  return has(row, kHold) ? object.holds : object.references;
}

bool maps(const RowSeen& row) {
  return row_of(row).maps();
}

bool counts_object(const RowSeen& row) {
  return maps(row) && row_of(row).any(kCounts | kPointer);
}

bool is_lookup(const RowSeen& row) {
  return row_of(row).any(kArgument | kReturn) && !row_of(row).any(kCounts | kTo | kFrom);
}

// Objects do not overlap.
bool is(const std::optional<ObjectSeen>& seen, const ObjectSeen& object) {
  return seen && seen->host.begin == object.host.begin;
}

bool first(std::vector<std::uintptr_t>& seen, const ObjectSeen& object) {
  const bool is_new = std::find(seen.begin(), seen.end(), object.host.begin) == seen.end();
  seen.push_back(object.host.begin);
  return is_new;
}

} // namespace

std::string CallLog::name(std::size_t row) const {
  return place_of(declared(row)).name;
}

void CallLog::note(std::uint32_t bit, std::int64_t order, std::string text) {
  if (!informs(bit))
    return;
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), order,
                                      [](std::int64_t sought, const Line& line) { return sought < line.order; });
  lines_.insert(after, {order, std::move(text)});
}

void CallLog::flush() {
  for (const Line& line : lines_)
    inform(device_, "%s", line.text.c_str());
  lines_.clear();
  rows_ = {};
}

void CallLog::add(RowsSeen seen) {
  flush();
  rows_ = std::move(seen.rows);
  backwards_ = seen.kind == RowsSeen::Kind::kReleased;
  switch (seen.kind) {
  case RowsSeen::Kind::kMapped:
    return mapped(seen.host_memory);
  case RowsSeen::Kind::kReleased:
    return released();
  case RowsSeen::Kind::kUpdated:
    return updated();
  }
}

// `later` references to the object were added by rows after this one.
void CallLog::note_mapped(std::size_t row, HostRange wanted, const void* base, const ObjectSeen& object, bool fresh,
                          bool counted, std::int64_t later) {
  const RowSeen& what = rows_[row];
  const std::int64_t order = static_cast<std::int64_t>(row);
  const std::int64_t count = count_now(what, object) - later;
  const bool is_cell = has(what, kPointer) && base == what.base;
  if (fresh) {
    DeclaredNames::set(device_, object.host, is_cell ? nullptr : declared(row));
    note(kInfoChanged, order,
         "Creating new map entry with HstPtrBase=" + hex(base) + ", HstPtrBegin=" + hex(wanted.begin) +
             ", TgtAllocBegin=" + hex(object.device - object.padding) +
             ", TgtPtrBegin=" + hex(object.at(wanted.begin)) + ", Size=" + std::to_string(wanted.size()) + ", " +
             counts(what, object, count, "") + ", Name=" + (is_cell ? "unknown" : name(row)));
    return;
  }
  note(kInfoFound, order,
       std::string("Mapping exists") + (has(what, kImplicit) ? " (implicit)" : "") + " with " +
           place_in(object, wanted) + ", " +
           counts(what, object, count, counted ? " (incremented)" : " (update suppressed)") +
           ", Name=" + (is_cell ? "unknown" : name(row)));
}

void CallLog::mapped(bool host_memory) {
  std::vector<std::uintptr_t> known;
  const auto later = [&](std::size_t row, const ObjectSeen& object) {
    std::int64_t count = 0;
    for (std::size_t i = row + 1; i < rows_.size(); ++i)
      count += (counts_object(rows_[i]) && is(rows_[i].object, object)) +
               (has(rows_[i], kPointer | kCounts) && is(rows_[i].cell, object));
    return count;
  };
  for (const RowSeen& row : rows_)
    if (informs(kInfoFound) && has(row, kArgument) && maps(row) && row.object && row.object->device)
      arguments_.push_back(used(row, *row.object, count_now(row, *row.object), " (update suppressed)"));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const RowSeen& row = rows_[i];
    if (!maps(row) || is_lookup(row))
      continue;
    if (row.cell && row.cell->device)
      note_mapped(i, HostRange::of(row.base, sizeof(void*)), row.base, *row.cell,
                  row.cell->fresh && first(known, *row.cell), has(row, kCounts),
                  later(i, *row.cell) + (counts_object(row) && is(row.object, *row.cell)));
    const void* const base = has(row, kPointer) ? row.pointer : row.base;
    if (row.object && row.object->device)
      note_mapped(i, range_of(row), base, *row.object, row.object->fresh && first(known, *row.object),
                  counts_object(row), later(i, *row.object));
    else if (!row.object && host_memory && row.size > 0)
      note(kInfoChanged, static_cast<std::int64_t>(i),
           "Return HstPtrBegin " + hex(row.begin) + " Size=" + std::to_string(row.size) + " for unified shared memory");
    else if (!row.object && !host_memory && (row.begin || has(row, kReturn)))
      note(kInfoNowhere, static_cast<std::int64_t>(i),
           "variable " + name(i) + " does not have a valid device counterpart");
  }
}

void CallLog::released() {
  std::vector<std::uintptr_t> gone;
  const auto remove = [&](std::int64_t order, const ObjectSeen& object, HostRange range) {
    if (!first(gone, object))
      return;
    const std::string known = DeclaredNames::of(device_, object.host);
    note(kInfoChanged, kLast + order,
         "Removing map entry with " + place_in(object, range) +
             ", Name=" + place_of(known.empty() ? nullptr : known.c_str()).name);
  };
  for (std::size_t i = rows_.size(); i-- > 0;) {
    const RowSeen& row = rows_[i];
    if (!maps(row) || is_lookup(row) || !row.object || !row.object->device)
      continue;
    const ObjectSeen& object = *row.object;
    const std::int64_t order = -static_cast<std::int64_t>(i);
    std::int64_t later = 0; // rows before this one are released after it
    for (std::size_t j = 0; j < i; ++j)
      later += counts_object(rows_[j]) && !has(rows_[j], kDelete) && is(rows_[j].object, object);
    const bool leaves = object.leaving && later == 0;
    const bool delayed = leaves && counts_object(row);
    const std::string action = !counts_object(row)            ? " (update suppressed"
                               : has(row, kDelete) && delayed ? " (reset"
                                                              : " (decremented";
    note(kInfoFound, order,
         used(row, object, count_now(row, object) + later, (action + (delayed ? ", delayed deletion)" : ")")).c_str()));
    if (leaves && delayed)
      remove(order, object, range_of(row));
  }
}

void CallLog::updated() {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (const std::optional<ObjectSeen>& object = rows_[i].object; object && object->device)
      note(kInfoFound, static_cast<std::int64_t>(i),
           used(rows_[i], *object, count_now(rows_[i], *object), " (update suppressed)"));
}

void CallLog::launching(const std::string& kernel, bool plugin_tells) {
  flush();
  for (const std::string& argument : arguments_)
    inform(device_, "%s", argument.c_str());
  arguments_.clear();
  if (informs(kInfoLaunches) && !plugin_tells)
    tell("", "\"PluginInterface\" device %d info: Launching kernel %s with 1 blocks and 1 threads in Generic mode",
         device_, kernel.c_str());
}

// The first row in work that the copy is for.
std::int64_t CallLog::order_of(const ObjectCopied& copied) const {
  const HostRange range = HostRange::of(copied.host, copied.size);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::size_t index = backwards_ ? rows_.size() - 1 - i : i;
    const RowSeen& row = rows_[index];
    const bool is_pointer = row_of(row).any(kPointer | kAttach) && row.base == copied.cell;
    const bool is_part = maps(row) && has(row, copied.to_device ? kTo : kFrom) && range_of(row).contains(range);
    if (copied.cell ? is_pointer : is_part)
      return backwards_ ? -static_cast<std::int64_t>(index) : static_cast<std::int64_t>(index);
  }
  return kLast - 1;
}

void CallLog::add(const ObjectCopied& copied) {
  if (informs(kInfoCopies))
    note(kInfoCopies, order_of(copied), describe(copied));
}

} // namespace omptool::llvm
