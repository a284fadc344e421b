// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/contents.h"

#include "check/findings.h"
#include "check/full/digest.h"
#include "check/full/guarded.h"
#include "check/full/host_watch.h"
#include "check/full/names.h"
#include "check/words.h"
#include "observe/events/sink.h"
#include "observe/events/source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <sys/uio.h>
#include <unistd.h>
#include <variant>

namespace omptool::check {
namespace {

using observe::Operation;
using Kind = Operation::Kind;

constexpr std::int64_t kLeast = 64; // bytes; small variables are often equal by chance, and cheap
constexpr std::size_t kMostPieces = 1 << 16;
constexpr unsigned kMostWatched = 8; // times for an object: scratch memory of a loop costs time

// Cell of the pointer that the thread attaches, if any: the device's bytes differ from the host's there.
constinit thread_local const void* attached_cell [[gnu::tls_model("initial-exec")]] = nullptr;

std::size_t size_of(const Operation& copy) {
  return static_cast<std::size_t>(copy.size);
}
std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

std::uint64_t digest_of_device(const void* there, std::size_t size) {
  note_use(there, size, false);
  return digest_of(there, size);
}

// Returns the construct that the operation is part of, if its call waits for it. Null: another, or a routine.
const observe::Call* call_of(const Operation& operation) {
  const observe::Begun* const construct = observe::construct_here();
  const bool is_its = construct && construct->number == operation.construct && !construct->call.nowait &&
                      construct->call.action != observe::Action::kRoutine;
  return is_its ? &construct->call : nullptr;
}

// Told finding about host memory, with the texts that it refers to.
class Told {
public:
  Told(Code code, const Operation& operation, const void* host, std::size_t size) {
    const observe::Call* const call = call_of(operation);
    source_ = observe::place_with_file(call && call->source ? call->source : "");
    finding.code = code;
    finding.variable = call ? variable_at(*call, host) : std::string_view();
    finding.entry = call ? call->region : "";
    finding.source = source_;
    finding.call = operation.code;
    finding.device = operation.device;
    finding.host = host;
    finding.size = size;
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  // Records the finding. `message` has a % for the variable.
  void say(std::string_view message) {
    message_ = message;
    message_.replace(message_.find('%'), 1, or_memory(finding.variable));
    finding.message = message_;
  }
  Finding finding{};

private:
  std::string source_, message_;
};

// Returns where the device's bytes first differ from the host's. Nothing: the first page of them does not, or the
// host's are gone.
std::optional<std::size_t> first_difference(const GuardedObject& object) {
  std::array<std::byte, 4096> host;
  const std::size_t size = std::min(object.size, host.size());
  const iovec into{host.data(), size}, from{const_cast<void*>(object.host), size};
  const ssize_t read = ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0);
  if (read < 0 && (errno == EPERM || errno == ENOSYS))
    record({Code::kNotChecked, "process_vm_readv() is forbidden: nobody checks whether the host reads a result that is "
                               "thrown away"});
  if (read != static_cast<ssize_t>(size))
    return std::nullopt;
  note_use(object.begin, size, false);
  for (std::size_t i = 0; i < size; ++i)
    // Skips the second word of a heap block, in which free() stores its own data.
    if (host[i] != object.begin[i] && (i / 8 != 1 || object.size <= 16))
      return i;
  return std::nullopt;
}

// Returns "a", "a and b", "a, b and c", or "a, b, c and 4 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  const std::size_t shown = names.size() > kMost ? kMost : names.size() - 1;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  const std::string last = names.size() > kMost ? std::to_string(names.size() - kMost) + " more" : names.back();
  return text.empty() ? last : text + " and " + last;
}

bool is_update(const Operation& copy) {
  const observe::Call* const call = call_of(copy);
  return call && call->action == observe::Action::kUpdate;
}

} // namespace

void Contents::check(int device) {
  const std::lock_guard guard(mutex_);
  devices_.insert(device);
}

void Contents::record_copy(Code code, const Operation& copy, const char* message, std::int64_t bytes) {
  Told told(code, copy, copy.host, size_of(copy));
  told.say(message);
  told.finding.bytes = static_cast<std::uint64_t>(bytes);
  found_.emplace_back(told.finding);
}

void Contents::hear(const observe::Event& event) {
  std::vector<KeptFinding> found;
  {
    const std::lock_guard guard(mutex_);
    note(event);
    found.swap(found_);
  }
  for (const KeptFinding& finding : found)
    record(finding.finding());
}

void Contents::note(const observe::Event& event) {
  if (devices_.empty())
    return;
  if (const auto* const begun = observe::as<observe::OperationBegins>(event))
    begins(begun->operation);
  else if (const auto* const ended = observe::as<observe::OperationEnds>(event))
    ends(ended->operation);
  else if (const auto* const rows = observe::as<observe::RowsSeen>(event))
    see(*rows);
  else if (const auto* const copied = observe::as<observe::ObjectCopied>(event))
    see(*copied);
  else if (const auto* const construct = observe::as<observe::ConstructBegins>(event))
    construct_begins(construct->call);
  else if (const auto* const over = observe::as<observe::ConstructEnds>(event))
    construct_ends(*over);
  else if (observe::as<observe::FellBack>(event)) // the runtime copies what it needs
    forget();
}

void Contents::construct_begins(const observe::Call& call) {
  if (!call.nowait)
    return;
  ++nowait_;
  forget();
}
void Contents::construct_ends(const observe::ConstructEnds& over) {
  tell_of_dropped(over.construct);
  if (!over.call.nowait)
    return;
  --nowait_;
  forget();
}

// Forgets copies, while objects stay mapped.
void Contents::forget() {
  pieces_.clear();
  before_.clear();
  for (auto& [place, life] : lives_)
    life = {life.end, life.device, 0, true};
}

// Begins the life of an object. Several rows of the construct may name it.
void Contents::begin_life(const Place& place, const observe::ObjectSeen& object, std::uint64_t maker, bool is_scratch) {
  Life& life = lives_[place];
  const bool is_of_others = life.maker == maker && maker != 0 && !life.is_scratch;
  life = {object.host.end, object.device, 0, false, maker, is_scratch && !is_of_others};
}

void Contents::see(const observe::RowsSeen& seen) {
  for (const observe::RowSeen& row : seen.rows)
    for (const std::optional<observe::ObjectSeen>* const one : {&row.object, &row.cell}) {
      const std::optional<observe::ObjectSeen>& object = *one;
      if (!object)
        continue;
      const Place place{seen.device, object->host.begin};
      const bool is_scratch = one == &row.object && !row.is_to && !row.is_from;
      if (seen.kind == observe::RowsSeen::Kind::kMapped && object->fresh)
        begin_life(place, *object, seen.construct, is_scratch);
      else if (const auto known = lives_.find(place); known != lives_.end() && object->leaving)
        known->second.leaving = seen.construct;
    }
}

void Contents::see(const observe::ObjectCopied& copied) {
  attached_cell = copied.cell;
  if (!copied.object)
    return;
  const std::uintptr_t offset = address_of(copied.host) - copied.object->begin;
  if (!copied.cell)
    lives_.try_emplace({copied.device, copied.object->begin},
                       Life{copied.object->end, static_cast<const std::byte*>(copied.there) - offset});
}

// ---- operations ----

void Contents::begins(const Operation& operation) {
  if (!devices_.contains(operation.device))
    return;
  if (operation.host)
    unwatch(operation.host, size_of(operation));
  Life* const life = life_of(operation);
  if (operation.kind == Kind::kToDevice && life)
    send(operation, *life);
  else if (operation.kind == Kind::kFromDevice && life)
    begin_return(operation, *life);
  else if (operation.kind == Kind::kFromDevice) // a routine writes to the host's memory
    erase_pieces({operation.device, address_of(operation.host)}, address_of(operation.host) + size_of(operation));
  else if (operation.kind == Kind::kToDevice || operation.kind == Kind::kFill ||
           operation.kind == Kind::kBetweenDevices)
    write_elsewhere(operation);
  else if (operation.kind == Kind::kFree)
    free(operation);
}

void Contents::ends(const Operation& operation) {
  if (operation.kind != Kind::kFromDevice || !before_.contains(operation.id))
    return;
  if (Life* const life = life_of(operation); life && !operation.failed)
    return_to_host(operation, *life);
  before_.erase(operation.id);
}

// Life of the object that was copied. Null: the copy is of no mapped object, or its time is not known. A private copy
// of a mapped variable has memory of its own.
Contents::Life* Contents::life_of(const Operation& copy) {
  const bool is_copy = copy.kind == Kind::kToDevice || copy.kind == Kind::kFromDevice;
  if (!is_copy || nowait_ > 0 || copy.size <= 0 || copy.host == attached_cell || !call_of(copy) ||
      !guarded_object(copy.there)) // nobody tells a fresh object without guarded memory from one that was there
    return nullptr;
  const std::uintptr_t begin = address_of(copy.host);
  auto after = lives_.upper_bound({copy.device, begin});
  if (after == lives_.begin())
    return nullptr;
  auto& [place, life] = *std::prev(after);
  const bool is_its = place.first == copy.device && begin + size_of(copy) <= life.end &&
                      copy.there == life.device + (begin - place.second);
  return is_its ? &life : nullptr;
}

// Finds the life at an object, or the end if the object is not mapped.
std::map<Contents::Place, Contents::Life>::iterator Contents::life_at(const GuardedObject* object) {
  const auto known = object ? lives_.find({object->device, address_of(object->host)}) : lives_.end();
  return known != lives_.end() && known->second.device == object->begin ? known : lives_.end();
}

// Forgets pieces that the copy overlaps without being one of them.
Contents::Piece& Contents::piece_of(const Operation& copy) {
  const Place place{copy.device, address_of(copy.host)};
  const std::uintptr_t end = place.second + size_of(copy);
  if (const auto known = pieces_.find(place); known != pieces_.end() && known->second.end == end)
    return known->second;
  if (pieces_.size() >= kMostPieces)
    forget();
  erase_pieces(place, end);
  Piece& piece = pieces_[place];
  piece.end = end;
  return piece;
}

void Contents::erase_pieces(Place begin, std::uintptr_t end) {
  auto at = pieces_.lower_bound(begin);
  if (at != pieces_.begin() && std::prev(at)->first.first == begin.first && std::prev(at)->second.end > begin.second)
    --at;
  while (at != pieces_.end() && at->first < Place{begin.first, end})
    at = pieces_.erase(at);
}

void Contents::send(const Operation& copy, Life& life) {
  Piece& piece = piece_of(copy);
  const std::uint64_t now = digest_of(copy.host, size_of(copy));
  if (guarded_object(copy.there)->born == copy.construct)
    judge_new(copy, piece, now);
  else
    judge_present(copy, piece, now);
  piece = {piece.end, now, now, {}, {}, 0};
  life.was_copied = true;
}

// Judges a copy to an object created for it. A `target data` around this construct and the one before would have saved
// the copy, if the device's bytes were the same when they were released.
void Contents::judge_new(const Operation& copy, const Piece& piece, std::uint64_t now) {
  if (copy.size < kLeast || piece.left != now)
    return;
  if (piece.returned == now)
    record_copy(Code::kRoundTrip, copy, "bytes of % come back from the device and go to it again as they were",
                2 * copy.size);
  else if (piece.sent == now)
    record_copy(Code::kCopiedAgain, copy, "the same bytes of % are copied to the device again", copy.size);
}

// Judges a copy to a present object: an update, or a copy by `always`.
void Contents::judge_present(const Operation& copy, const Piece& piece, std::uint64_t now) {
  const std::uint64_t there = digest_of_device(copy.there, size_of(copy));
  if (there != now) {
    if (piece.both && there != piece.both)
      record_copy(Code::kStale, copy, "a copy of % to the device overwrites what a kernel wrote since the last copy");
  } else if (copy.size >= kLeast && !is_update(copy)) {
    record_copy(Code::kAlwaysInVain, copy, "`always` copies bytes of % to the device that are there already",
                copy.size);
  } else if (copy.size >= kLeast && piece.returned == now) {
    record_copy(Code::kRoundTrip, copy, "bytes of % come back from the device and go to it again as they were",
                2 * copy.size);
  } else if (copy.size >= kLeast && piece.sent == now) {
    record_copy(Code::kCopiedAgain, copy, "the same bytes of % are copied to the device again", copy.size);
  }
}

// Begins a copy to the host. Stores a digest of the host's bytes if they matter: both sides were equal before, or the
// copy may be in vain.
void Contents::begin_return(const Operation& copy, const Life& life) {
  const Digest both = piece_of(copy).both;
  Digest host;
  if (both || life.leaving != copy.construct)
    host = digest_of(copy.host, size_of(copy));
  before_[copy.id] = {host, both};
}

void Contents::return_to_host(const Operation& copy, Life& life) {
  Piece& piece = piece_of(copy);
  const auto [before, both] = before_[copy.id];
  const std::uint64_t now = digest_of(copy.host, size_of(copy));
  if (both && before != both && before != now)
    record_copy(Code::kStale, copy, "a copy of % to the host overwrites what the host wrote since the last copy");
  if (copy.size >= kLeast && before == now && life.leaving != copy.construct && !is_update(copy))
    record_copy(Code::kAlwaysInVain, copy, "`always` copies bytes of % to the host that are there already", copy.size);
  piece.both = piece.returned = now;
  piece.returned_by = copy.construct;
  life.was_copied = true;
}

// Records a write by a routine, a private copy, or an attached pointer.
void Contents::write_elsewhere(const Operation& operation) {
  if (operation.host && operation.host == attached_cell) {
    const std::uintptr_t cell = address_of(operation.host);
    return erase_pieces({operation.device, cell}, cell + sizeof(void*));
  }
  const auto life = life_at(guarded_object(operation.there));
  if (life == lives_.end())
    return;
  erase_pieces(life->first, life->second.end);
  life->second.was_copied = true;
}

void Contents::free(const Operation& operation) {
  const GuardedObject* const object = guarded_object(operation.there);
  const auto known = life_at(object);
  if (known == lives_.end())
    return;
  const auto& [place, life] = *known;
  bool is_dropped = !life.was_copied && object->kernel_wrote;
  for (auto at = pieces_.lower_bound(place); at != pieces_.end() && at->first < Place{place.first, life.end}; ++at) {
    auto& [begin, piece] = *at;
    // A copy back at the end of the object has left both sides the same.
    piece.left = life.leaving != 0 && life.leaving == piece.returned_by
                     ? piece.returned
                     : digest_of_device(object->begin + (begin.second - place.second), piece.end - begin.second);
    is_dropped = is_dropped || (piece.both && piece.left != piece.both);
    piece.both.reset();
  }
  if (is_dropped && nowait_ == 0 && call_of(operation)) {
    if (!life.is_scratch)
      note_dropped(*object, operation);
    watch_dropped(*object, operation);
  }
  lives_.erase(known);
}

// Notes a dropped object. All objects of a construct make one finding.
void Contents::note_dropped(const GuardedObject& object, const Operation& free) {
  const Told told(Code::kResultDropped, free, object.host, object.size);
  Dropped& all = dropped_.try_emplace(free.construct, Dropped{KeptFinding(told.finding), {}}).first->second;
  all.size += object.size;
  const std::string name = or_memory(told.finding.variable);
  if (std::find(all.variables.begin(), all.variables.end(), name) == all.variables.end())
    all.variables.push_back(name);
}

void Contents::tell_of_dropped(std::uint64_t construct) {
  const auto dropped = dropped_.find(construct);
  if (dropped == dropped_.end())
    return;
  const Dropped& all = dropped->second;
  const std::string variables = listed(all.variables);
  const std::string message = "what a kernel wrote to " + variables + " is thrown away";
  Finding finding = all.first.finding();
  if (all.variables.size() > 1) {
    finding.variable = variables;
    finding.host = nullptr; // of one of them
  }
  finding.size = all.size;
  finding.message = message;
  found_.emplace_back(finding);
  dropped_.erase(dropped);
}

// Watches a dropped object, which may have been scratch memory: it was not if the host reads its own bytes in place of
// the result.
void Contents::watch_dropped(const GuardedObject& object, const Operation& free) {
  Told told(Code::kResultLost, free, object.host, object.size);
  const std::optional<std::size_t> difference = first_difference(object);
  if (!difference || watched_[{object.device, address_of(object.host)}]++ >= kMostWatched)
    return;
  const KernelPlace kernel = last_kernel();
  told.say("the host reads %, and what a kernel wrote to it was thrown away");
  told.finding.entry = kernel.entry;
  told.finding.kernel = kernel.code;
  watch_reads(word_at(object.host, object.size, *difference), told.finding);
}

} // namespace omptool::check
