// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/pairing.h"

#include "counted.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

namespace omptool {
namespace {

using Records = std::span<const __tgt_offload_entry>;

bool has_name(const __tgt_offload_entry& record) {
  return record.name && *record.name;
}

// An entry that the image lacks needs no name.
bool pairs_by_name(Records there, Records host) {
  return std::all_of(host.begin(), host.end(), has_name) &&
         std::all_of(there.begin(), there.end(), [](const auto& record) { return !record.addr || has_name(record); });
}

std::string pair_by_position(Records there, Records host, std::vector<void*>& addresses) {
  if (there.size() != host.size())
    return " (its entry table has " + counted(there.size(), "entry") + ", the host's has " +
           std::to_string(host.size()) + ")";
  for (const __tgt_offload_entry& record : there)
    addresses.push_back(record.addr);
  return {};
}

// A name that the host lists more than once, as of a region in a header, is still one thing in the image.
std::string pair_by_name(Records there, Records host, std::vector<void*>& addresses) {
  struct Found {
    const __tgt_offload_entry* record;
    bool doubled;
  };
  std::unordered_map<std::string_view, Found> by_name(there.size());
  for (const __tgt_offload_entry& record : there)
    if (record.addr) {
      Found& found = by_name.try_emplace(record.name, Found{&record, false}).first->second;
      found.doubled = found.doubled || found.record->addr != record.addr;
    }
  for (const __tgt_offload_entry& wanted : host) {
    const auto at = by_name.find(wanted.name);
    addresses.push_back(at == by_name.end() ? nullptr : at->second.record->addr);
    if (at == by_name.end())
      continue;
    if (at->second.doubled)
      return " (its entry table lists " + std::string(wanted.name) + " twice)";
    if (at->second.record->size != wanted.size)
      return " (" + std::string(wanted.name) + " has " + std::to_string(wanted.size) + " bytes on the host and " +
             std::to_string(at->second.record->size) + " in its entry table)";
  }
  return {};
}

} // namespace

std::string pair_entries(const tgt_target_table& table, const EntryTable& host, std::vector<void*>& addresses) {
  if (!is_range(table.EntriesBegin, table.EntriesEnd))
    return " (its entry table does not end where an entry ends)";
  const Records there(table.EntriesBegin, table.EntriesEnd);
  addresses.reserve(host.records.size());
  return pairs_by_name(there, host.records) ? pair_by_name(there, host.records, addresses)
                                            : pair_by_position(there, host.records, addresses);
}

} // namespace omptool
