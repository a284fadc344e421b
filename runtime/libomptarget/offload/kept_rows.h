// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a call that is done later, when the caller's arrays may be gone.
#pragma once

#include "data/table/row.h"

#include <cstddef>
#include <vector>

namespace omptool {

// The rows, without kReturn, and the bytes that private copies begin with. Mapped objects are not copied: they are the
// program's to keep.
class KeptRows {
public:
  explicit KeptRows(Rows rows);
  KeptRows(const KeptRows&) = delete; // rows_ points into bytes_
  KeptRows& operator=(const KeptRows&) = delete;
  Rows rows() const { return rows_; }

private:
  std::vector<Row> rows_;
  std::vector<std::vector<std::byte>> bytes_;
};

} // namespace omptool
