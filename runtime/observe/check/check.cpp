// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/check.h"

#include "check/book.h"
#include "check/findings.h"
#include "check/heap.h"
#include "check/readable.h"
#include "check/variables.h"
#include "check/words.h"
#include "observe/events/sink.h"
#include "output/names.h"
#include "process/per_process.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory_resource>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace omptool::check {
namespace {

using observe::Action;
using observe::RowSeen;
using observe::RowsSeen;

// Returns the name of the variable that begins there, or "".
std::string_view name_of(const observe::Call& call, const void* begin) {
  return variable_of(call.arguments, begin);
}
HostRange range_of(const RowSeen& row) {
  return HostRange::of(row.begin, row.size);
}

// Returns whether the name is that of a structure's member; array sections have a base as well.
bool is_member(std::string_view name) {
  return name.find('[') == std::string_view::npos &&
         (name.find('.') != std::string_view::npos || name.find("->") != std::string_view::npos);
}

// Least number of objects created again, so that a loop is reported but three constructs of a program are not.
constexpr unsigned kLeastAgain = 3;

// Nobody looks for pointers in larger objects.
constexpr std::int64_t kMostBytesOfPointers = 256;

class Checker {
public:
  void on(const observe::ConstructBegins& event) {
    if (event.call.nowait) // its arguments are needed when the call has returned
      kept_.try_emplace(event.construct, event.call);
  }
  void on(const observe::ConstructEnds& event) {
    if (event.call.nowait)
      kept_.erase(event.construct);
  }

  void on(const observe::RuleBroken& event) {
    const observe::Call& here = call_of(event.construct);
    const std::string_view variable = name_of(here, event.wanted.address());
    const std::string what = or_memory(variable) + " (" + range_text(event.wanted) + ")";
    if (!event.present)
      return tell(here, Code::kAbsent, variable, event.wanted,
                  what + " has to be present on the device as a whole, and is not");
    const std::string part = range_text(*event.present);
    const Object* const object = book_.find(here.device, event.present->begin);
    if (!object && event.is_counted) // the construct itself has created it
      return tell(here, Code::kRowsOverlap, variable, event.wanted,
                  what + " overlaps another list item of the same construct: " + part);
    tell(here, Code::kExtension, variable, event.wanted,
         what + " is more than what is present: " + part +
             (object ? ", mapped" + at(source_of(object->origin)) : std::string()));
  }

  void on(const RowsSeen& event) {
    if (event.host_memory) // nothing is copied, so nothing can go wrong
      return;
    const observe::Call& here = call_of(event.construct);
    if (event.kind == RowsSeen::Kind::kMapped)
      map(event, here);
    else if (event.kind == RowsSeen::Kind::kReleased)
      release(event, here);
    else
      update(event, here);
  }

  void on(const observe::OperationEnds& event) {
    const observe::Operation& operation = event.operation;
    if (operation.kind == observe::Operation::Kind::kAllocate && is_routine(operation.construct))
      own_.insert_or_assign(operation.there, operation.size);
    else if (operation.kind == observe::Operation::Kind::kFree)
      own_.erase(operation.there);
  }

  void on(const observe::DeviceReady& event) {
    if (event.rank >= 0)
      record_title(event.device, event.title);
  }

  // Ends the check at the program's end.
  void on(const observe::DevicesFinish&) {
    book_.for_each([this](int device, const Object& object) {
      Finding finding{Code::kStillMapped, {}, variable_of(object)};
      const std::string message =
          or_memory(finding.variable) + " (" + range_text(object.host) + ") is still mapped when the program ends";
      const std::string place = observe::place_with_file(source_of(object.origin));
      finding.message = message;
      finding.source = place;
      finding.call = object.origin.call;
      fill(finding, device, object.host);
      found.emplace_back(finding);
    });
  }

  std::mutex mutex;
  std::vector<KeptFinding> found; // to be recorded without the lock

private:
  // Returns the call of a construct that this thread is in, with its arguments.
  const observe::Call& call_of(std::uint64_t construct) const {
    if (const auto kept = kept_.find(construct); kept != kept_.end())
      return kept->second.call;
    static constexpr observe::Call kUnknown{};
    const observe::Begun* const begun = observe::construct_here();
    return begun && begun->number == construct ? begun->call : kUnknown;
  }
  static bool is_routine(std::uint64_t construct) {
    const observe::Begun* const begun = observe::construct_here();
    return begun && begun->number == construct && begun->call.action == Action::kRoutine;
  }
  std::uint32_t number_of(std::string_view text) { return recent_.number(names_, text); }
  std::string_view variable_of(const Object& object) { return names_.text(object.origin.variable); }
  std::string_view source_of(const Origin& origin) { return names_.text(origin.source); }

  // ---- rows ----

  void map(const RowsSeen& event, const observe::Call& here) {
    const bool is_region = here.action == Action::kRegion;
    look_for_overlaps(event, here);
    std::array<std::byte, 1024> room; // for most: this is no time to ask for memory
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    std::pmr::set<std::uintptr_t> added(&memory); // several rows may be of one object
    for (const RowSeen& row : event.rows) {
      if (row.is_map && row.size > 0 && !row.is_implicit)
        look_for_length(row, here);
      if (row.difference)
        tell_of_difference(row, here);
      if (row.is_pointer && row.cell)
        attached_.insert({event.device, reinterpret_cast<std::uintptr_t>(row.base)});
      if (row.object && row.object->fresh && row.is_map && added.insert(row.object->host.begin).second)
        add(*row.object, row, event.device, here);
      if (Object* const object = row.object ? book_.find(event.device, row.object->host.begin) : nullptr)
        object->is_used = object->is_used || row.is_returned;
    }
    if (!is_region)
      return;
    ++regions_[event.device];
    for (const RowSeen& row : event.rows)
      look_at_pointers(row, event.device, here);
  }

  void add(const observe::ObjectSeen& seen, const RowSeen& row, int device, const observe::Call& here) {
    const std::string_view variable = name_of(here, row.begin);
    Object object{seen.host,
                  row.is_pointer ? nullptr : row.base,
                  {number_of(variable), number_of(here.source ? here.source : ""), here.code},
                  regions_[device],
                  here.action == Action::kRegion};
    look_for_siblings(object, variable, device, here);
    const std::int64_t size = object.host.size();
    const HostRange host = object.host;
    const unsigned again = book_.add(device, std::move(object));
    const unsigned untold = again == kLeastAgain ? kLeastAgain : again > kLeastAgain ? 1 : 0;
    for (unsigned i = 0; i < untold && size > static_cast<std::int64_t>(sizeof(void*)); ++i)
      tell(here, Code::kAllocatedAgain, variable, host,
           (variable.empty() ? bytes(size) + " are" : std::string(variable) + " (" + bytes(size) + ") is") +
               " freed on the device and allocated again at once: keep " + (variable.empty() ? "them" : "it") +
               " mapped (`target data`) around the loop",
           size);
    if (seen.leaving) // the construct does not wait, and has given it up already
      book_.remove(device, host.begin);
  }

  void release(const RowsSeen& event, const observe::Call& here) {
    for (const RowSeen& row : event.rows) {
      if (here.action == Action::kExitData && row.object && row.object->leaving) {
        look_for_rest(row, event, here);
        if (row.is_map && row.is_from && !row.is_delete && row.size > 0) // it may have been unmapped since it came
          look_for_memory(row, here);
      }
      if (!row.object && row.is_map && row.size > 0 && !row.is_implicit && here.action == Action::kExitData)
        tell(here, Code::kNotMapped, name_of(here, row.begin), range_of(row),
             or_memory(name_of(here, row.begin)) + " (" + range_text(range_of(row)) +
                 ") is unmapped, and is not mapped");
      if (!row.object || !row.object->leaving)
        continue;
      const Object* const object = book_.find(event.device, row.object->host.begin);
      if (object && !object->is_used && !object->is_of_region && object->regions_before == regions_[event.device])
        tell_of_unused(*object, event.device);
      book_.remove(event.device, row.object->host.begin);
      const HostRange host = row.object->host;
      attached_.erase(attached_.lower_bound({event.device, host.begin}),
                      attached_.lower_bound({event.device, host.end}));
    }
  }

  void update(const RowsSeen& event, const observe::Call& here) {
    for (const RowSeen& row : event.rows)
      if (!row.object && row.is_map && row.size > 0)
        tell(here, Code::kNotMapped, name_of(here, row.begin), range_of(row),
             or_memory(name_of(here, row.begin)) + " (" + range_text(range_of(row)) +
                 ") is updated, and is not mapped as a whole: nothing is copied");
  }

  // ---- rules ----

  // Looks for overlapping rows. Rows of which one contains the other may be a structure and its member.
  void look_for_overlaps(const RowsSeen& event, const observe::Call& here) {
    constexpr std::size_t kMostRows = 64; // each is compared with each
    const auto is_meant = [](const RowSeen& row) { return row.is_map && !row.is_implicit && row.size > 0; };
    for (std::size_t i = 0; i < std::min(event.rows.size(), kMostRows); ++i)
      for (std::size_t j = 0; is_meant(event.rows[i]) && j < i; ++j) {
        const HostRange one = range_of(event.rows[i]), other = range_of(event.rows[j]);
        if (!is_meant(event.rows[j]) || !one.overlaps(other) || one.contains(other) || other.contains(one))
          continue;
        const std::string_view variable = name_of(here, event.rows[i].begin);
        tell(here, Code::kRowsOverlap, variable, one,
             or_memory(variable) + " (" + range_text(one) +
                 ") overlaps another list item of the same construct: " + range_text(other));
      }
  }

  // Looks for a section with a wrong length: the heap block begins where the pointer points, or where the section
  // begins.
  void look_for_length(const RowSeen& row, const observe::Call& here) {
    for (const void* const block : {row.is_pointer ? row.pointer : row.base, row.begin}) {
      const std::size_t size = block ? allocated_at(block) : 0;
      const HostRange there = HostRange::of(block, static_cast<std::int64_t>(size)), wanted = range_of(row);
      if (size == 0 || there.contains(wanted) || wanted.begin < there.begin)
        continue;
      const std::string_view variable = name_of(here, row.begin);
      return tell(here, Code::kTooLong, variable, wanted,
                  or_memory(variable) + " (" + range_text(wanted) +
                      ") is longer than its allocation: " + range_text(there));
    }
    if (row.object && (row.object->fresh || row.is_always) && (row.is_to || row.is_from))
      look_for_memory(row, here);
  }

  // Looks for unmapped host memory: a copy of such memory faults before the runtime could explain it.
  void look_for_memory(const RowSeen& row, const observe::Call& here) {
    const std::optional<std::uintptr_t> end = first_unreadable(range_of(row));
    if (!end)
      return;
    const std::string_view variable = name_of(here, row.begin);
    tell(here, Code::kTooLong, variable, range_of(row),
         or_memory(variable) + " (" + range_text(range_of(row)) +
             ") is longer than the memory that the host has there" + ": it cannot read " + hex(*end));
  }

  // Reports a variable that differs on the device: it is there for good, so nothing is copied.
  void tell_of_difference(const RowSeen& row, const observe::Call& here) {
    const observe::Difference& differs = *row.difference;
    const std::string_view own = name_of(here, row.begin);
    const std::string variable(own.empty() ? std::string_view(differs.variable) : own);
    const bool is_whole = static_cast<std::int64_t>(differs.size) == row.size;
    tell(here, Code::kGlobalNotCopied, variable, range_of(row),
         std::string(row.is_from ? "map(tofrom: " : "map(to: ") + variable + ") copied nothing, because " + variable +
             " is a declare target variable (" + (is_whole ? "" : "byte " + std::to_string(differs.offset) + ": ") +
             "host " + number_text(differs.host, differs.size) + ", device " +
             number_text(differs.device, differs.size) + "): use `target update to(" + variable + ")`");
  }

  // Looks for the rest of the construct's rows, which may copy back what this row does not.
  void look_for_rest(const RowSeen& row, const RowsSeen& event, const observe::Call& here) {
    const HostRange object = row.object->host;
    const auto is_its = [&](const RowSeen& other) {
      return other.object && other.object->host.begin == object.begin && other.is_map;
    };
    const bool is_alone = std::count_if(event.rows.begin(), event.rows.end(), is_its) == 1;
    if (!row.is_map || !row.is_from || row.is_delete || row.is_implicit || row.size <= 0 || row.size >= object.size() ||
        !is_alone)
      return;
    const Object* const known = book_.find(event.device, object.begin);
    if (!known || known->regions_before == regions_[event.device]) // no kernel can have written to the rest
      return;
    const std::string_view variable = name_of(here, row.begin);
    tell(here, Code::kPartBack, variable, object,
         or_memory(variable) + " comes back in part: " + range_text(range_of(row)) + " of " + range_text(object) +
             ", and the rest of the device's bytes is thrown away");
  }

  // Looks for siblings on the device: a kernel gets one address for the structure, and would read the other member at
  // the wrong place.
  void look_for_siblings(const Object& object, std::string_view variable, int device, const observe::Call& here) {
    if (!object.is_of_region || !object.base || !is_member(variable))
      return;
    const Object* const other = book_.sibling(device, object);
    if (!other || !is_member(variable_of(*other)))
      return;
    tell(here, Code::kPiecemeal, variable, object.host,
         std::string(variable) + " is mapped apart from " + std::string(variable_of(*other)) + ", mapped" +
             at(source_of(other->origin)) + ": the region does not find that member");
  }

  // Checks the pointers of a region's row, which its kernel may follow.
  void look_at_pointers(const RowSeen& row, int device, const observe::Call& here) {
    // Nobody wrote an implicit row: the region uses the pointer. Names that begin with a point are the compiler's.
    if (row.is_implicit && row.is_map && row.size == 0 && !row.object && row.begin && !is_own(row.begin) &&
        !name_of(here, row.begin).starts_with('.'))
      return tell(here, Code::kDangling, name_of(here, row.begin), HostRange::of(row.begin, 0),
                  or_memory(name_of(here, row.begin)) + " leads to host memory at " +
                      hex(reinterpret_cast<std::uintptr_t>(row.begin)) + ", and nothing is mapped there");
    // Somebody wrote such a row: is_device_ptr, has_device_addr or firstprivate.
    if (const auto value = reinterpret_cast<std::uintptr_t>(row.base); row.is_value && !row.is_implicit)
      if (const Object* const object = book_.holder(device, value))
        return tell_of_host_address(row, value, *object, here);
    if (!row.object || !row.is_map || !row.is_to || row.size > kMostBytesOfPointers)
      return;
    for (std::int64_t at = 0; at + static_cast<std::int64_t>(sizeof(void*)) <= row.size; at += sizeof(void*)) {
      const auto* const cell = static_cast<const std::byte*>(row.begin) + at;
      std::uintptr_t value = 0;
      std::memcpy(&value, cell, sizeof value);
      if (!attached_.contains({device, reinterpret_cast<std::uintptr_t>(cell)}))
        look_at_pointer(row, value, device, here);
    }
  }
  void look_at_pointer(const RowSeen& row, std::uintptr_t value, int device, const observe::Call& here) {
    if (const Object* const object = book_.holder(device, value))
      return tell_of_host_address(row, value, *object, here);
    if (allocated_at(reinterpret_cast<const void*>(value)) == 0)
      return; // it may be a number
    const std::string_view variable = name_of(here, row.begin);
    tell(here, Code::kDangling, variable, range_of(row), taken(variable, value) + "and nothing is mapped there");
  }
  void tell_of_host_address(const RowSeen& row, std::uintptr_t value, const Object& object, const observe::Call& here) {
    const std::string_view variable = name_of(here, row.begin);
    tell(here, Code::kHostPointer, variable, range_of(row),
         taken(variable, value) + "where that memory has another: " + or_memory(variable_of(object)) + " is mapped" +
             at(source_of(object.origin)));
  }
  static std::string taken(std::string_view variable, std::uintptr_t value) {
    return or_memory(variable) + " takes the host's address " + hex(value) + " to the device, ";
  }

  // Returns whether the memory is from omp_target_alloc, which has a device address alone.
  bool is_own(const void* address) const {
    auto after = own_.upper_bound(address);
    if (after == own_.begin())
      return false;
    --after;
    return static_cast<const std::byte*>(address) - static_cast<const std::byte*>(after->first) < after->second;
  }

  // ---- findings ----

  static void fill(Finding& finding, int device, HostRange host) {
    finding.device = device;
    finding.host = host.address();
    finding.size = static_cast<std::uint64_t>(host.size());
    finding.bytes = finding.size;
  }
  void tell(const observe::Call& here, Code code, std::string_view variable, HostRange host, const std::string& message,
            std::int64_t in_vain = 0) {
    const std::string place = observe::place_with_file(here.source ? here.source : "");
    Finding finding{code, message, variable, here.region, place, here.code};
    fill(finding, here.device, host);
    finding.bytes = static_cast<std::uint64_t>(in_vain);
    found.emplace_back(finding);
  }
  void tell_of_unused(const Object& object, int device) {
    const std::string_view variable = variable_of(object);
    const std::string message = or_memory(variable) + " (" + bytes(object.host.size()) +
                                ") is mapped and unmapped, and no region ran meanwhile";
    const std::string place = observe::place_with_file(source_of(object.origin));
    Finding finding{Code::kUnused, message, variable, {}, place, object.origin.call};
    fill(finding, device, object.host);
    found.emplace_back(finding);
  }

  struct KeptCall {
    explicit KeptCall(const observe::Call& its) : call(its), arguments(its.arguments) {
      call.arguments = arguments.arguments();
    }
    KeptCall(const KeptCall&) = delete;
    KeptCall& operator=(const KeptCall&) = delete;
    observe::Call call;
    const KeptArguments arguments;
  };
  std::unordered_map<std::uint64_t, KeptCall> kept_; // constructs that their calls do not wait for
  observe::Names names_;                             // of variables, and source locations
  observe::NameCache recent_;
  Book book_;
  std::unordered_map<int, std::uint64_t> regions_;    // so many have begun on a device
  std::set<std::pair<int, std::uintptr_t>> attached_; // pointers that lead to the device's memory there
  std::map<const void*, std::int64_t> own_;           // sizes, by address
};

class Listener final : public observe::Listener {
public:
  void hear(const observe::Event& event) override {
    observe::dispatch(event, [](const auto& one) {
      if constexpr (requires(Checker& checker) { checker.on(one); }) { // the others are for other listeners
        Checker& checker = PerProcess<Checker>::get();
        std::vector<KeptFinding> found;
        {
          const std::lock_guard lock(checker.mutex);
          checker.on(one);
          found.swap(checker.found);
        }
        for (const KeptFinding& finding : found)
          record(finding.finding());
      }
    });
  }
};

} // namespace

void start() {
  if (level() == Level::kNone)
    return;
  static Listener* const only = new Listener; // threads go on while the process exits
  find_heap();
  observe::subscribe(*only, observe::kHeard | observe::kBegins | observe::kDifferences);
}

} // namespace omptool::check
