// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds the rows of a construct to objects: finds them in the present table, or makes and counts them.
#pragma once

#include "data/mapped_arguments.h"
#include "data/table/present_table.h"
#include "data/table/row.h"

namespace omptool {

class Binder {
public:
  using Lock = PresentTable::Lock;
  Binder(PresentTable& table, const Sharing& sharing) : table_(table), sharing_(sharing) {}

  // The same without the table's lock, of values and of whole objects that are named by where they begin. False: some
  // row takes the table's lock; the others keep what they have.
  [[gnu::hot]] bool bind_exactly(Rows rows, Held& held);
  // Finds, creates and counts what the rows name and have not yet.
  void bind(Rows rows, Held& held, Lock& lock);
  // Finds what earlier calls have mapped, of rows that release or update it. False: as above.
  [[gnu::hot]] bool find_exactly(Rows rows, Held& held, bool updates);
  // Finds what an earlier call has mapped, of a row that releases it.
  void bind_released(const Row& row, Binding& binding, Lock& lock);
  // The same of a row that updates it. False: another call is still filling the object; when it was done, others may
  // have changed.
  bool bind_updated(const Row& row, Binding& binding, Lock& lock);
  // Lets go of what has been found: others may have changed it.
  void unbind(Held& held, Lock& lock);

private:
  HostRange reserved_range(Rows rows, std::size_t index, Lock& lock);
  bool may_attach(const Row& pointer, Rows rows) const;
  bool leads_to_host(const Row& row, Lock& lock);
  void bind_counted(Rows rows, std::size_t index, Binding& binding, const void* call, Lock& lock);
  MappingPtr obtain_part(const Row& row, HostRange wanted, const void* call, Lock& lock);
  void bind_parts(const Row& row, Binding& binding, const void* call, Lock& lock);
  void bind_attached(const Row& row, Binding& binding, const void* call, Lock& lock);
  void note_parts(Rows rows, std::size_t index, Bindings& bound, Lock& lock);

  PresentTable& table_;
  const Sharing& sharing_;
};

} // namespace omptool
