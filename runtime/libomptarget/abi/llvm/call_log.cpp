// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/call_log.h"

#include "abi/llvm/source.h"
#include "process/message.h"

#include <algorithm>

namespace omptool {

constinit thread_local CallLog* CallLog::innermost_ = nullptr;

namespace {

constexpr std::int64_t kLast = std::int64_t{1} << 40; // after all rows

HostRange range_of(const Row& row) {
  return HostRange::of(row.begin, row.size);
}
HostRange cell_of(const Row& row) {
  return HostRange::of(row.base, sizeof(void*));
}

std::string count_of(const Mapping& object, std::int64_t references) {
  return object.infinite ? "INF" : std::to_string(references);
}

// Both counts, with what happened to the one that the row is about.
std::string counts(const Row& row, const Mapping& object, std::int64_t count, const char* action) {
  const bool hold = row.has(kHold);
  return "DynRefCount=" + count_of(object, hold ? object.references : count) + (hold ? "" : action) +
         ", HoldRefCount=" + std::to_string(hold ? count : object.holds) + (hold ? action : "");
}

std::string place_in(const Mapping& object, HostRange wanted) {
  return "HstPtrBegin=" + hex(wanted.begin) + ", TgtPtrBegin=" + hex(object.at(wanted.begin)) +
         ", Size=" + std::to_string(wanted.size());
}

std::int64_t count_now(const Row& row, const Mapping& object) {
  return row.has(kHold) ? object.holds : object.references;
}

bool counts_object(const Row& row, const Mapping* object) {
  return row.maps() && (row.any(kCounts | kPointer) || (object && object->is_apart()));
}
bool counts_cell(const Row& row, const Mapping* cell) {
  return row.has(kPointer) && (row.has(kCounts) || (cell && cell->is_apart()));
}

bool is_question(const Row& row) {
  return row.any(kArgument | kReturn) && !row.any(kCounts | kTo | kFrom);
}

} // namespace

CallLog::~CallLog() {
  flush();
  innermost_ = outer_;
}

std::string CallLog::name(std::size_t row) const {
  return llvm::place_of(declared(row)).name;
}

void CallLog::note(std::uint32_t bit, std::int64_t order, std::string text) {
  if (!informs(bit))
    return;
  const auto after = std::upper_bound(events_.begin(), events_.end(), order,
                                      [](std::int64_t sought, const Event& event) { return sought < event.order; });
  events_.insert(after, {order, std::move(text)});
}

void CallLog::flush() {
  for (const Event& event : events_)
    inform(device_, "%s", event.text.c_str());
  events_.clear();
  rows_ = {};
}

// `later` references to the object were added by rows after this one.
void CallLog::note_mapped(std::size_t row, const Row& what, HostRange wanted, const void* base, const Mapping& object,
                          bool fresh, bool counted, std::int64_t later) {
  const std::int64_t order = static_cast<std::int64_t>(row);
  const std::int64_t count = (what.has(kHold) ? object.holds : object.references) - later;
  const bool is_cell = what.has(kPointer) && base == what.base;
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
       std::string("Mapping exists") + (what.has(kImplicit) ? " (implicit)" : "") + " with " +
           place_in(object, wanted) + ", " +
           counts(what, object, count, counted ? " (incremented)" : " (update suppressed)") +
           ", Name=" + (is_cell ? "unknown" : name(row)));
}

void CallLog::mapped(Rows rows, Bindings& bound, bool host_memory) {
  flush();
  backwards_ = false;
  rows_ = rows;
  std::vector<const Mapping*> seen;
  const auto first = [&](const Mapping& object) {
    const bool is = std::find(seen.begin(), seen.end(), &object) == seen.end();
    seen.push_back(&object);
    return is;
  };
  const auto later = [&](std::size_t row, const Mapping* object) {
    std::int64_t count = 0;
    for (std::size_t i = row + 1; i < rows.size(); ++i)
      count += (counts_object(rows[i], object) && bound[i].object.get() == object) +
               (counts_cell(rows[i], object) && bound[i].cell.get() == object);
    return count;
  };
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const Mapping* const object = bound[i].object.get();
        informs(kInfoFound) && rows[i].has(kArgument) && rows[i].maps() && object && object->device)
      arguments_.push_back(used(rows[i], *object, count_now(rows[i], *object), " (update suppressed)"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (!row.maps() || is_question(row))
      continue;
    const Mapping* const cell = bound[i].cell.get();
    if (cell && cell->device)
      note_mapped(i, row, cell_of(row), row.base, *cell, bound[i].cell_fresh && first(*cell), counts_cell(row, cell),
                  later(i, cell) + (counts_object(row, cell) && bound[i].object.get() == cell));
    const Mapping* const object = bound[i].object.get();
    const void* const base = row.has(kPointer) ? *static_cast<void**>(row.base) : row.base;
    if (object && object->device)
      note_mapped(i, row, range_of(row), base, *object, bound[i].object_fresh && first(*object),
                  counts_object(row, object), later(i, object));
    else if (!object && host_memory && row.size > 0)
      note(kInfoChanged, static_cast<std::int64_t>(i),
           "Return HstPtrBegin " + hex(row.begin) + " Size=" + std::to_string(row.size) + " for unified shared memory");
    else if (!object && !host_memory && (row.begin || row.has(kReturn)))
      note(kInfoNowhere, static_cast<std::int64_t>(i),
           "variable " + name(i) + " does not have a valid device counterpart");
  }
}

std::string CallLog::used(const Row& row, const Mapping& object, std::int64_t count, const char* action) {
  return "Mapping exists with " + place_in(object, range_of(row)) + ", " + counts(row, object, count, action);
}

void CallLog::released(Rows rows, Bindings& bound) {
  flush();
  backwards_ = true;
  rows_ = rows;
  std::vector<const Mapping*> gone;
  const auto remove = [&](std::int64_t order, const Mapping& object, HostRange range) {
    if (std::find(gone.begin(), gone.end(), &object) != gone.end())
      return;
    gone.push_back(&object);
    const std::string known = DeclaredNames::of(device_, object.host);
    note(kInfoChanged, kLast + order,
         "Removing map entry with " + place_in(object, range) +
             ", Name=" + llvm::place_of(known.empty() ? nullptr : known.c_str()).name);
  };
  for (std::size_t i = rows.size(); i-- > 0;) {
    const Row& row = rows[i];
    const Mapping* const object = bound[i].object.get();
    if (!row.maps() || is_question(row) || !object || !object->device)
      continue;
    const std::int64_t order = -static_cast<std::int64_t>(i);
    std::int64_t later = 0; // rows before this one are released after it
    for (std::size_t j = 0; j < i; ++j)
      later += counts_object(rows[j], object) && !rows[j].has(kDelete) && bound[j].object.get() == object;
    const bool leaves = object->state == Mapping::State::kLeaving && later == 0;
    const bool delayed = leaves && counts_object(row, object);
    const std::string action = !counts_object(row, object)   ? " (update suppressed"
                               : row.has(kDelete) && delayed ? " (reset"
                                                             : " (decremented";
    note(kInfoFound, order,
         used(row, *object, count_now(row, *object) + later,
              (action + (delayed ? ", delayed deletion)" : ")")).c_str()));
    if (leaves && delayed)
      remove(order, *object, range_of(row));
  }
}

void CallLog::found(Rows rows, Bindings& bound) {
  flush();
  backwards_ = false;
  rows_ = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (const Mapping* const object = bound[i].object.get(); object && object->device)
      note(kInfoFound, static_cast<std::int64_t>(i),
           used(rows[i], *object, count_now(rows[i], *object), " (update suppressed)"));
  }
}

void CallLog::launching(const std::string& kernel) {
  flush();
  for (const std::string& argument : arguments_)
    inform(device_, "%s", argument.c_str());
  arguments_.clear();
  if (informs(kInfoLaunches))
    tell("", "\"PluginInterface\" device %d info: Launching kernel %s with 1 blocks and 1 threads in Generic mode",
         device_, kernel.c_str());
}

// The first row in work that the copy is for.
std::int64_t CallLog::order_of_copy(bool in, const void* host, std::int64_t size) const {
  const HostRange range = HostRange::of(host, size);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::size_t index = backwards_ ? rows_.size() - 1 - i : i;
    const Row& row = rows_[index];
    if (row.maps() && row.has(in ? kTo : kFrom) && range_of(row).contains(range))
      return backwards_ ? -static_cast<std::int64_t>(index) : static_cast<std::int64_t>(index);
  }
  return kLast - 1;
}

void CallLog::copied(bool in, std::int64_t order, const Mapping& object, const void* host, const void* there,
                     std::int64_t size) {
  const std::string known = object.is_named() ? object.name() : DeclaredNames::of(device_, object.host);
  const std::string name = llvm::place_of(known.empty() ? nullptr : known.c_str()).name;
  const std::string from = "HstPtr=" + hex(host), to = "TgtPtr=" + hex(there);
  note(kInfoCopies, order,
       std::string("Copying data from ") + (in ? "host to device, " : "device to host, ") +
           (in ? from + ", " + to : to + ", " + from) + ", Size=" + std::to_string(size) + ", Name=" + name);
}

void CallLog::copied_in(const Mapping& object, const void* host, const void* there, std::int64_t size) {
  copied(true, order_of_copy(true, host, size), object, host, there, size);
}
void CallLog::copied_out(const Mapping& object, const void* host, const void* there, std::int64_t size) {
  copied(false, order_of_copy(false, host, size), object, host, there, size);
}

void CallLog::attached(const Mapping& object, const Row& row, void* const& value, const void* there) {
  const bool known = !rows_.empty() && &row >= rows_.data() && &row < rows_.data() + rows_.size();
  copied(true, known ? &row - rows_.data() : kLast - 1, object, &value, there, sizeof value);
}

} // namespace omptool
