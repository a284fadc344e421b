// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/departures.h"

#include <iterator>
#include <utility>

namespace omptool {

// Returns the first part that ends behind where the range begins.
template <typename All> auto Departures::first_in(All& all, HostRange range) {
  const auto behind = all.upper_bound(range.begin);
  if (behind == all.begin())
    return behind;
  const auto before = std::prev(behind);
  return before->second.end > range.begin ? before : behind;
}

void Departures::split_at(std::uintptr_t address) {
  const auto at = first_in(parts_, {address, address + 1});
  if (at == parts_.end() || at->first >= address)
    return;
  Part rest = at->second;
  at->second.end = address;
  parts_.emplace(address, std::move(rest));
}

void Departures::add(HostRange host, const EventPtr& ended, std::vector<EventPtr>& over) {
  auto at = first_in(parts_, host);
  if (at != parts_.end() && at->first < host.end) {
    split_at(host.begin);
    split_at(host.end);
    for (at = parts_.lower_bound(host.begin); at != parts_.end() && at->first < host.end; at = parts_.erase(at))
      over.push_back(std::move(at->second.ended));
  }
  parts_.emplace_hint(at, host.begin, Part{host.end, ended});
}

void Departures::forget(HostRange host, const EventPtr& ended) {
  for (auto at = first_in(parts_, host); at != parts_.end() && at->first < host.end;)
    at = at->second.ended == ended ? parts_.erase(at) : std::next(at);
}

std::vector<EventPtr> Departures::pending(HostRange range) const {
  std::vector<EventPtr> found;
  for (auto at = first_in(parts_, range); at != parts_.end() && at->first < range.end; ++at)
    if (!at->second.ended->is_done())
      found.push_back(at->second.ended);
  return found;
}

} // namespace omptool
