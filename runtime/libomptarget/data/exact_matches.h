// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constructs whose rows are values and whole objects, named by where they begin: nearly all that run. Their objects are
// found in the index, with the lock of one shard at a time; the table's is needed only to create an object where none
// has been, and to give up its place. What has left keeps its place for a while, without device memory, because
// programs map the same memory again and again.
#pragma once

#include "data/diverged_copies.h"
#include "data/mapped_arguments.h"
#include "data/table/present_table.h"

#include <string>

namespace omptool {

// What one row refers to.
struct KnownObject {
  Mapping* object = nullptr; // pinned; null: a value
  bool fresh = false;
  bool leaving = false;      // released by this call
  bool host_current = false; // at the time the call began to copy
  bool plain = false;        // copies need no look at attached pointers
};
using KnownObjects = PerRow<KnownObject>;

class ExactMatches {
public:
  ExactMatches(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, Activity& activity,
               Transfers& transfers, DivergedCopies& diverged)
      : memory_(memory), sharing_(sharing), table_(table), activity_(activity), transfers_(transfers),
        diverged_(diverged) {}

  // The common case: each row is a value, or an object by its beginning that needs no more than a count and a copy.
  // begin_known() counts references and fills what is new. False: it is not that case, and the caller uses Begin, which
  // counts again, and then gives up with end_known() whatever `bound` holds.
  [[gnu::hot]] bool begin_known(Rows rows, KnownObjects& bound);
  [[gnu::hot]] void end_known(Rows rows, KnownObjects& bound, Release release, const std::string& region);
  void* known_argument(const Row& row, const KnownObject& known) const;
  // As above, without a region. pin_known() counts nothing: its objects can be ended or let go. False: some row needs
  // the table; hold of others may have been taken.
  [[gnu::hot]] bool pin_known(Rows rows, KnownObjects& bound, bool updates = false);
  void let_go(KnownObjects& bound);
  bool update_known(Rows rows);
  // Of one object that is no constant, by a copy that this thread makes itself and reports to nobody.
  [[gnu::hot]] bool update_few_bytes(void* host, std::int64_t size, bool to, bool from);

private:
  enum class Claim { kHeld, kFresh, kNo };
  Claim claim(const Row& row, bool may_create, KnownObject& object);
  Claim create(const Row& row, KnownObject& object);
  bool may_attach(const Row& pointer, Rows rows) const;
  void fill(const Row& row, Rows others, KnownObject& object);
  static MappingPtr unpin(Mapping& mapping);
  bool drop_known(KnownObject& known);
  void give_back(MappingPtr share);
  void wait_for_users(const Mapping& mapping);
  bool fetch_now(Mapping& mapping, HostRange range);
  void copy_back(const KnownObject& known, const Row& row, const std::string& region);
  void leave(Mapping& mapping, const std::string& region);
  MappingPtr take_out(Mapping& mapping, const std::string& region, std::byte*& device);
  void update_one(Direction direction, const KnownObject& known, const Row& row);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Activity& activity_;
  Transfers& transfers_;
  DivergedCopies& diverged_;
};

} // namespace omptool
