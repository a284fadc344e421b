// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Listens to the constructs of every ABI, and prints what LIBOMPTARGET_INFO asks for.
#include "abi/info/info.h"
#include "data/table/row.h"
#include "devices/registry.h"
#include "launch_words.h"
#include "observe/events/sink.h"
#include "process/message.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

namespace omptool::info {
namespace {

using observe::ObjectCopied;
using observe::ObjectSeen;
using observe::RowSeen;
using observe::RowsSeen;

// A row of a construct, with what is asked of it here.
struct SeenRow : RowSeen {
  SeenRow(const RowSeen& seen) : RowSeen(seen) {}
  bool has(std::uint32_t wanted) const { return (flags & wanted) == wanted; }
  bool any(std::uint32_t wanted) const { return (flags & wanted) != 0; }
  bool maps() const { return Row{nullptr, nullptr, 0, flags}.maps(); }
  bool counts_object() const { return maps() && any(kCounts | kPointer); }
  bool is_lookup() const { return any(kArgument | kReturn) && !any(kCounts | kTo | kFrom); }
  HostRange range() const { return HostRange::of(begin, size); }
  std::int64_t count_of(const ObjectSeen& one) const { return has(kHold) ? one.holds : one.references; }
};

bool is_there(const std::optional<ObjectSeen>& object) {
  return object && object->device;
}

// Compares host addresses, because objects do not overlap.
bool is(const std::optional<ObjectSeen>& seen, const ObjectSeen& object) {
  return seen && seen->host.begin == object.host.begin;
}

constexpr const char* kSuppressed = " (update suppressed)";

// Formats both counts of an object: one is or was `count`, and `action` describes its change.
std::string counts(const ObjectSeen& object, bool hold, std::int64_t count, const std::string& action) {
  const std::string references = object.infinite ? "INF" : std::to_string(hold ? object.references : count);
  return "DynRefCount=" + references + (hold ? "" : action) +
         ", HoldRefCount=" + std::to_string(hold ? count : object.holds) + (hold ? action : "");
}

std::string place_in(const ObjectSeen& object, HostRange wanted) {
  return "HstPtrBegin=" + hex(wanted.begin) + ", TgtPtrBegin=" + hex(object.at(wanted.begin)) +
         ", Size=" + std::to_string(wanted.size());
}

// Describes an object already in use. `more`: references beside those counted by now.
std::string used(const SeenRow& row, std::int64_t more = 0, const std::string& action = kSuppressed) {
  return "Mapping exists with " + place_in(*row.object, row.range()) + ", " +
         counts(*row.object, row.has(kHold), row.count_of(*row.object) + more, action);
}

std::string describe(const ObjectCopied& copied) {
  const std::string host = "HstPtr=" + hex(copied.host), there = "TgtPtr=" + hex(copied.there);
  return std::string("Copying data from ") + (copied.to_device ? "host to device, " : "device to host, ") +
         (copied.to_device ? host + ", " + there : there + ", " + host) + ", Size=" + std::to_string(copied.size) +
         ", Name=" + declared_place(copied.device, copied.object, copied.name).name;
}

// Returns one team of one thread, in the words of LLVM's release for the program that calls at `code`.
std::string shape_for(const void* code) {
  Registry* const registry = Registry::current();
  return launch_words({1, 1, 1}, {1, 1, 1}, registry && registry->images_at(code).is_since_20);
}

// Tells what one construct did with mapped objects, in LLVM's order: row by row, although the core works in steps that
// each go over all rows.
class CallLog {
public:
  explicit CallLog(int device) : device_(device) {}

  // Rows up to `count` come from what the program calls `declared`.
  void name_rows(std::size_t count, const char* declared) { names_.resize(std::max(count, names_.size()), declared); }

  void add(const RowsSeen& seen) {
    flush();
    rows_.assign(seen.rows.begin(), seen.rows.end());
    backwards_ = seen.kind == RowsSeen::Kind::kReleased;
    if (seen.kind == RowsSeen::Kind::kMapped)
      mapped(seen.host_memory);
    else if (backwards_)
      released();
    else
      for (std::size_t i = 0; i < rows_.size(); ++i)
        if (is_there(rows_[i].object))
          note(kInfoFound, order_of(i), used(rows_[i]));
  }

  void add(const ObjectCopied& copied) {
    if (informs(kInfoCopies))
      note(kInfoCopies, order_of(copied), describe(copied));
  }

  // Reports the start of a region, which the program calls at `code`, with the mapped rows.
  void launching(std::string_view kernel, const void* code, bool plugin_tells) {
    flush();
    for (const std::string& argument : arguments_)
      inform(device_, argument);
    arguments_.clear();
    if (informs(kInfoLaunches) && !plugin_tells)
      tell("", "%s", launch_line(device_, std::string(kernel), shape_for(code), "Generic").c_str());
  }

  // Prints what has been noted.
  void flush() {
    for (const auto& [order, text] : lines_)
      inform(device_, text);
    lines_.clear();
    rows_.clear();
    known_.clear();
  }

private:
  static constexpr std::int64_t kLast = std::int64_t{1} << 40; // after all rows

  const char* declared(std::size_t row) const { return row < names_.size() ? names_[row] : nullptr; }
  std::string name_of(std::size_t row) const { return place_of(declared(row)).name; }

  void note(std::uint32_t bit, std::int64_t order, std::string text) {
    if (informs(bit))
      lines_.emplace(order, std::move(text));
  }

  std::int64_t order_of(std::size_t row) const {
    return backwards_ ? -static_cast<std::int64_t>(row) : static_cast<std::int64_t>(row);
  }

  // Returns that of the first row in work that the copy is for.
  std::int64_t order_of(const ObjectCopied& copied) const {
    const HostRange range = HostRange::of(copied.host, copied.size);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t index = backwards_ ? rows_.size() - 1 - i : i;
      const SeenRow& row = rows_[index];
      const bool is_pointer = row.any(kPointer | kAttach) && row.base == copied.cell;
      const bool is_part = row.maps() && row.has(copied.to_device ? kTo : kFrom) && row.range().contains(range);
      if (copied.cell ? is_pointer : is_part)
        return order_of(index);
    }
    return kLast - 1;
  }

  // Number of references to the object added by rows after this one.
  std::int64_t added_after(std::size_t row, const ObjectSeen& object) const {
    std::int64_t count = 0;
    for (std::size_t i = row + 1; i < rows_.size(); ++i)
      count += (rows_[i].counts_object() && is(rows_[i].object, object)) +
               (rows_[i].has(kPointer | kCounts) && is(rows_[i].cell, object));
    return count;
  }

  // Notes a mapped row. `later`: references to the object added after it.
  void note_mapped(std::size_t row, HostRange wanted, const void* base, const ObjectSeen& object, bool counted,
                   std::int64_t later) {
    const SeenRow& what = rows_[row];
    const std::int64_t count = what.count_of(object) - later;
    const bool is_cell = what.has(kPointer) && base == what.base;
    const std::string name = ", Name=" + (is_cell ? "unknown" : name_of(row));
    if (object.fresh && known_.insert(object.host.begin).second) {
      keep_declared(device_, object.host, is_cell ? nullptr : declared(row));
      note(kInfoChanged, order_of(row),
           "Creating new map entry with HstPtrBase=" + hex(base) + ", HstPtrBegin=" + hex(wanted.begin) +
               ", TgtAllocBegin=" + hex(object.device - object.padding) +
               ", TgtPtrBegin=" + hex(object.at(wanted.begin)) + ", Size=" + std::to_string(wanted.size()) + ", " +
               counts(object, what.has(kHold), count, "") + name);
      return;
    }
    note(kInfoFound, order_of(row),
         std::string("Mapping exists") + (what.has(kImplicit) ? " (implicit)" : "") + " with " +
             place_in(object, wanted) + ", " +
             counts(object, what.has(kHold), count, counted ? " (incremented)" : kSuppressed) + name);
  }

  void mapped(bool host_memory) {
    for (const SeenRow& row : rows_)
      if (informs(kInfoFound) && row.has(kArgument) && row.maps() && is_there(row.object))
        arguments_.push_back(used(row));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const SeenRow& row = rows_[i];
      if (!row.maps() || row.is_lookup())
        continue;
      if (is_there(row.cell))
        note_mapped(i, HostRange::of(row.base, sizeof(void*)), row.base, *row.cell, row.has(kCounts),
                    added_after(i, *row.cell) + (row.counts_object() && is(row.object, *row.cell)));
      const void* const base = row.has(kPointer) ? row.pointer : row.base;
      if (is_there(row.object))
        note_mapped(i, row.range(), base, *row.object, row.counts_object(), added_after(i, *row.object));
      else if (!row.object && host_memory && row.size > 0)
        note(kInfoChanged, order_of(i),
             "Return HstPtrBegin " + hex(row.begin) + " Size=" + std::to_string(row.size) +
                 " for unified shared memory");
      else if (!row.object && !host_memory && (row.begin || row.has(kReturn)))
        note(kInfoNowhere, order_of(i), "variable " + name_of(i) + " does not have a valid device counterpart");
    }
  }

  void released() {
    for (std::size_t i = rows_.size(); i-- > 0;) {
      const SeenRow& row = rows_[i];
      if (!row.maps() || row.is_lookup() || !is_there(row.object))
        continue;
      const ObjectSeen& object = *row.object;
      std::int64_t later = 0; // rows before this one are released after it
      for (std::size_t j = 0; j < i; ++j)
        later += rows_[j].counts_object() && !rows_[j].has(kDelete) && is(rows_[j].object, object);
      const bool leaves = row.counts_object() && object.leaving && later == 0;
      const std::string action = !row.counts_object()         ? " (update suppressed"
                                 : row.has(kDelete) && leaves ? " (reset"
                                                              : " (decremented";
      note(kInfoFound, order_of(i), used(row, later, action + (leaves ? ", delayed deletion)" : ")")));
      if (leaves && known_.insert(object.host.begin).second)
        note(kInfoChanged, kLast + order_of(i),
             "Removing map entry with " + place_in(object, row.range()) +
                 ", Name=" + declared_place(device_, object.host).name);
    }
  }

  const int device_;
  std::vector<const char*> names_; // by row
  std::multimap<std::int64_t, std::string> lines_;
  std::vector<std::string> arguments_; // of the kernel: where they are
  bool backwards_ = false;             // rows are being released
  std::vector<SeenRow> rows_;          // in work
  std::set<std::uintptr_t> known_;     // objects that have been told to be new, or to leave
};

class Narrator : public observe::Listener {
public:
  void hear(const observe::Event& event) override {
    observe::dispatch(event, [this](const auto& one) { on(one); });
  }
  // Finds the log of a construct, or returns null if it has no lines.
  CallLog* find(std::uint64_t construct) {
    const std::lock_guard lock(mutex_);
    const auto at = logs_.find(construct);
    return at == logs_.end() ? nullptr : &at->second;
  }

private:
  void on(const observe::ConstructBegins& event) {
    if (event.call.action == observe::Action::kRoutine)
      return;
    const std::lock_guard lock(mutex_);
    logs_.try_emplace(event.construct, event.call.device);
  }
  void on(const observe::ConstructEnds& event) {
    std::unique_lock lock(mutex_);
    const auto ended = logs_.extract(event.construct);
    lock.unlock();
    if (!ended)
      return;
    ended.mapped().flush();
    if (informs(kInfoTable) && !event.failed)
      tell_tables(place_of_construct(event.call.source).text());
  }
  void on(const RowsSeen& event) {
    if (CallLog* const log = find(event.construct))
      log->add(event);
  }
  void on(const ObjectCopied& event) {
    if (CallLog* const log = find(event.construct))
      log->add(event);
    else if (informs(kInfoCopies))
      inform(event.device, describe(event));
  }
  void on(const observe::OperationBegins& event) {
    CallLog* const log = find(event.operation.construct);
    if (log && event.operation.kind == observe::Operation::Kind::kLaunch)
      log->launching(event.operation.entry, event.operation.code, event.operation.shape_is_plugins);
  }
  void on(const observe::ObjectAsked& event) {
    if (const std::optional<ObjectSeen>& object = event.object; object && informs(kInfoFound))
      inform(event.device, "Mapping exists with " + place_in(*object, HostRange::of(event.address, 1)) + ", " +
                               counts(*object, false, object->references, kSuppressed));
  }
  void on(const observe::DeviceReady& event) {
    if (event.rank >= 0)
      inform(event.device, "The device is " + event.title);
  }
  template <typename Other> void on(const Other&) {} // nothing that LLVM's users know

  std::mutex mutex_;
  std::map<std::uint64_t, CallLog> logs_; // of the constructs that have begun
};

// Narrator of the process. Never destroyed, because threads may still map while the process exits.
Narrator& narrator() {
  static Narrator* const only = new Narrator;
  return *only;
}

std::atomic<bool> info_known{false};

} // namespace

void read_info() {
  const char* const value = ::secure_getenv("LIBOMPTARGET_INFO");
  if (info_known.exchange(true) || !value || !*value)
    return;
  char* end = nullptr;
  errno = 0;
  const long long bits = std::strtoll(value, &end, 0);
  if (errno != 0 || *end != '\0' || bits < -1 || bits > UINT32_MAX)
    say("the runtime ignores LIBOMPTARGET_INFO=%s; known values: integers from -1 to 4294967295", value);
  else
    set_info(static_cast<std::uint32_t>(bits));
}

void set_info(std::uint32_t bits) {
  info_known = true;
  info_bits = bits;
  if (bits)
    observe::subscribe(narrator(), observe::kHeard | observe::kBegins | observe::kOnThread); // a log is of one thread
  else
    observe::unsubscribe(narrator());
}

void name_rows(std::size_t count, const char* declared) {
  if (CallLog* const log = narrator().find(observe::Within::current()))
    log->name_rows(count, declared);
}

} // namespace omptool::info
