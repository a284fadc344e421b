// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds the rows of a construct to objects: finds them in the present table, or makes and counts them.
#pragma once

#include "data/arguments.h"
#include "data/table/present_table.h"
#include "data/table/row.h"

namespace omptool {

class Binder {
public:
  using Lock = PresentTable::Lock;
  Binder(PresentTable& table, const Sharing& sharing) : table_(table), sharing_(sharing) {}

  // The same without the table's lock, of values and of whole objects that are named by where they begin. False: some
  // row takes the table's lock; the others keep what they have.
  bool bind_exactly(Rows rows, MappedArguments& mapped) {
    bool may_create = true;
    if (!mapped.all_plain && !needs_no_lock(rows, may_create))
      return false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].maps())
        continue;
      const Answer found = table_.enter(rows[i], may_create, mapped.call());
      mapped.arguments[i].object = {found.object, found.is(Answer::Kind::kNew)};
      mapped.creates = mapped.creates || found.is(Answer::Kind::kNew);
      if (!found.object) [[unlikely]]
        return false;
    }
    return true;
  }
  // Finds, creates and counts what the rows name and have not yet, once nothing of it leaves.
  void bind(Rows rows, MappedArguments& mapped, Lock& lock);
  // Finds what earlier calls have mapped, of rows that release or update it. False: as above.
  bool find_exactly(Rows rows, MappedArguments& mapped, bool updates) {
    for (std::size_t i = 0; i < rows.size() && mapped.all_plain; ++i) {
      if (!rows[i].maps()) [[unlikely]]
        continue;
      Object* const hinted = table_.hinted(rows[i]);
      if (!hinted || !hinted->find(range_of(rows[i]), updates && rows[i].has(kTo))) [[unlikely]]
        return false;
      mapped.arguments[i].object.known = hinted;
    }
    return mapped.all_plain;
  }
  // The same by the table's lock, once nothing of it is on its way in or out.
  void bind_known(Rows rows, MappedArguments& mapped, bool updates, Lock& lock);

private:
  void unbind(MappedArguments& mapped, Lock& lock);
  // Tells if each row may be an exact match. `may_create` becomes false where no row may create its object.
  bool needs_no_lock(Rows rows, bool& may_create) const;
  bool may_attach(const Row& pointer, Rows rows) const;

  PresentTable& table_;
  const Sharing& sharing_;
};

} // namespace omptool
