// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/kept_rows.h"

#include <cstdint>

namespace omptool {

KeptRows::KeptRows(Rows rows) : rows_(rows.begin(), rows.end()) {
  for (Row& row : rows_) {
    row.flags &= ~static_cast<std::uint32_t>(kReturn);
    if (!row.has(kPrivate | kTo) || row.has(kValue) || row.size <= 0)
      continue;
    const auto* const begin = static_cast<const std::byte*>(row.begin);
    bytes_.emplace_back(begin, begin + row.size);
    // The kernel's argument is as far from the copy as the base is from the bytes.
    const std::uintptr_t before =
        reinterpret_cast<std::uintptr_t>(row.begin) - reinterpret_cast<std::uintptr_t>(row.base);
    row.begin = bytes_.back().data();
    row.base = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(row.begin) - before);
  }
}

} // namespace omptool
