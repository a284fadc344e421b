// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the bytes that are copied between the host and a device whose memory this process can read, by digests:
// finds copies that were not needed, results that are thrown away, and changes that a copy overwrites.
//
// Only mapped objects count, and of those what is copied in one piece: attached pointers lie between the pieces,
// private copies are no mapped objects. The time of what a `nowait` construct does is not known: nothing that was known
// before one is used while it goes on, or after it.
#pragma once

#include "check/findings.h"
#include "check/full/slots.h"
#include "observe/events/events.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace omptool::check {

class Contents {
public:
  void check(int device);
  void hear(const observe::Event& event);

private:
  using Digest = std::optional<std::uint64_t>;  // nothing: unknown
  using Place = std::pair<int, std::uintptr_t>; // a device, and where host memory begins

  // Piece of host memory that was copied as a whole. Pieces do not overlap.
  struct Piece {
    std::uintptr_t end = 0;
    Digest both;                   // of both sides, after the last copy
    Digest sent;                   // to the device, the last time
    Digest returned;               // since then
    Digest left;                   // of the device, when the object was released
    std::uint64_t returned_by = 0; // the construct
  };
  // Life of a mapped object.
  struct Life {
    std::uintptr_t end = 0;
    const std::byte* device = nullptr;
    std::uint64_t leaving = 0; // the construct that unmaps it
    bool was_copied = false;
    std::uint64_t maker = 0; // the construct that created it; 0: unknown
    bool is_scratch = false; // mapped there with neither `to` nor `from`
  };

  // Dropped objects: unmapped by a construct without a copy back, although kernels wrote to them.
  struct Dropped {
    KeptFinding first;
    std::vector<std::string> variables;
    std::uint64_t size = 0; // of all
  };

  // State before a copy to the host. Another copy of the same piece may end earlier.
  struct Before {
    Digest host, both;
  };

  void note(const observe::Event& event);
  void record_copy(Code code, const observe::Operation& copy, const char* message, std::int64_t bytes = 0);
  void construct_begins(const observe::Call& call);
  void construct_ends(const observe::ConstructEnds& over);
  void begin_life(const Place& place, const observe::ObjectSeen& object, std::uint64_t maker, bool is_scratch);
  void see(const observe::RowsSeen& seen);
  void see(const observe::ObjectCopied& copied);
  void begins(const observe::Operation& operation);
  void ends(const observe::Operation& operation);

  Life* life_of(const observe::Operation& copy);
  std::map<Place, Life>::iterator life_at(const GuardedObject* object);
  Piece& piece_of(const observe::Operation& copy);
  void erase_pieces(Place begin, std::uintptr_t end);
  void send(const observe::Operation& copy, Life& life);
  void judge_new(const observe::Operation& copy, const Piece& piece, std::uint64_t now);
  void judge_present(const observe::Operation& copy, const Piece& piece, std::uint64_t now);
  void begin_return(const observe::Operation& copy, const Life& life);
  void return_to_host(const observe::Operation& copy, Life& life);
  void write_elsewhere(const observe::Operation& operation);
  void free(const observe::Operation& operation);
  void note_dropped(const GuardedObject& object, const observe::Operation& free);
  void tell_of_dropped(std::uint64_t construct);
  void watch_dropped(const GuardedObject& object, const observe::Operation& free);
  void forget();

  std::mutex mutex_;               // the members below
  std::vector<KeptFinding> found_; // to be recorded without the lock
  std::set<int> devices_;          // that are checked
  std::size_t nowait_ = 0;         // such constructs that go on
  std::map<Place, Piece> pieces_;
  std::map<Place, Life> lives_;
  std::map<std::uint64_t, Dropped> dropped_; // by the construct, until it ends
  std::map<Place, unsigned> watched_;        // counts of dropped objects by address
  std::map<std::uint64_t, Before> before_;   // by the number of a copy to the host
};

} // namespace omptool::check
