// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds the rows of a construct to objects: finds them in the present table, or makes and counts them.
#pragma once

#include "data/mapped_arguments.h"
#include "data/table/present_table.h"
#include "data/table/row.h"

#include <array>

namespace omptool {

class Binder {
public:
  using Lock = PresentTable::Lock;
  Binder(PresentTable& table, const Sharing& sharing) : table_(table), sharing_(sharing) {}

  // The same without the table's lock, of values and of whole objects that are named by where they begin. False: some
  // row takes the table's lock; the others keep what they have.
  bool bind_exactly(Rows rows, Held& held) {
    bool may_create = true;
    if (!held.all_plain && !needs_no_lock(rows, may_create))
      return false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].maps())
        continue;
      const PresentTable::Entered entered = table_.enter(rows[i], may_create, &held.bound);
      held.bound[i].object = {entered.object, entered.is_fresh};
      held.creates = held.creates || entered.is_fresh;
      if (!entered.object) [[unlikely]]
        return false;
    }
    return true;
  }
  // Finds, creates and counts what the rows name and have not yet, once nothing of it leaves.
  void bind(Rows rows, Held& held, Lock& lock);
  // Finds what earlier calls have mapped, of rows that release or update it. False: as above.
  bool find_exactly(Rows rows, Held& held, bool updates) {
    for (std::size_t i = 0; i < rows.size() && held.all_plain; ++i) {
      if (!rows[i].maps()) [[unlikely]]
        continue;
      held.bound[i].object.mapping = table_.find(rows[i], updates);
      if (!held.bound[i].object) [[unlikely]]
        return false;
    }
    return held.all_plain;
  }
  // The same by the table's lock, once nothing of it is on its way in or out.
  void bind_known(Rows rows, Held& held, bool updates, Lock& lock);

private:
  static std::array<HostRange, 2> places_of(Rows rows, std::size_t index);
  Mapping* find_leaving(Rows rows, Lock& lock);
  void wait_until_none_leaves(Rows rows, Lock& lock);
  void unbind(Held& held, Lock& lock);
  Mapping* bind_known(const Row& row, Binding& binding, bool updates, Lock& lock);
  HostRange reserved_range(Rows rows, std::size_t index, Lock& lock);
  // Tells if each row may be an exact match. `may_create` becomes false where no row may create its object.
  bool needs_no_lock(Rows rows, bool& may_create) const;
  bool may_attach(const Row& pointer, Rows rows) const;
  bool leads_to_host(const Row& row, Lock& lock);
  void bind_counted(Rows rows, std::size_t index, Binding& binding, const void* call, Lock& lock);
  Mapping* obtain_part(const Row& row, HostRange wanted, const void* call, Lock& lock);
  void bind_part(const Row& row, Binding& binding, const void* call, Lock& lock);
  void bind_attached(const Row& row, Binding& binding, Lock& lock);
  void note_parts(Rows rows, std::size_t index, Bindings& bound, Lock& lock);

  PresentTable& table_;
  const Sharing& sharing_;
};

} // namespace omptool
