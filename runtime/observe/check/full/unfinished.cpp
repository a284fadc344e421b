// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/unfinished.h"

#include "check/full/host_watch.h"
#include "check/full/names.h"
#include "observe/events/sink.h"
#include "observe/events/source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace omptool::check {
namespace {

constexpr std::size_t kRegisters = 4;     // of a processor
constexpr unsigned kMostUsesWatched = 16; // of a variable: the registers of all threads are set each time

std::optional<Use> forbidden(const observe::RowSeen& row, observe::RowsSeen::Kind kind) {
  using SeenAs = observe::RowsSeen::Kind;
  if (!row.object || row.size <= 0 || (kind == SeenAs::kMapped && !row.object->fresh) ||
      (kind == SeenAs::kReleased && !row.object->leaving))
    return std::nullopt;
  if (row.is_from)
    return Use::kAny;
  return row.is_to && kind != SeenAs::kReleased ? std::optional(Use::kWrite) : std::nullopt;
}

void watch_row(const observe::RowSeen& row, Use use, int device, std::size_t words, const observe::Begun& construct) {
  const std::string source = construct.call.source ? observe::place_with_file(construct.call.source) : std::string();
  Finding finding{Code::kTooEarly, use == Use::kAny
                                       ? "the host uses a variable before a `nowait` construct has copied it"
                                       : "the host writes to a variable that an unfinished `nowait` "
                                         "construct copies to the device"};
  finding.variable = variable_at(construct.call, row.begin);
  finding.entry = construct.call.region;
  finding.source = source;
  finding.device = device;
  finding.host = row.begin;
  finding.size = static_cast<std::uint64_t>(row.size);
  const auto size = static_cast<std::size_t>(row.size);
  for (std::size_t i = 0; i < words; ++i) {
    const std::size_t offset = words > 1 ? (size - 1) * i / (words - 1) : 0;
    watch_use(word_at(row.begin, size, offset), use, construct.number, finding);
  }
}

} // namespace

void Unfinished::hear(const observe::Event& event) {
  if (const auto* const seen = observe::as<observe::RowsSeen>(event))
    see(*seen);
  else if (const auto* const over = observe::as<observe::ConstructEnds>(event); over && over->call.nowait)
    unwatch(over->construct);
}

void Unfinished::see(const observe::RowsSeen& seen) {
  const observe::Begun* const construct = observe::construct_here();
  // Skips constructs of omptarget.h, which the program sees as done before their ends are reported.
  if (!construct || construct->number != seen.construct || !construct->call.nowait ||
      construct->call.abi != observe::Abi::kLlvm)
    return;
  if (seen.kind == observe::RowsSeen::Kind::kReleased && construct->call.action == observe::Action::kRegion)
    return; // they have been watched since they were mapped
  std::vector<const observe::RowSeen*> rows;
  {
    const std::lock_guard guard(mutex_);
    for (const observe::RowSeen& row : seen.rows)
      if (rows.size() < kRegisters && forbidden(row, seen.kind) &&
          watched_[reinterpret_cast<std::uintptr_t>(row.begin)]++ < kMostUsesWatched)
        rows.push_back(&row);
  }
  for (const observe::RowSeen* const row : rows)
    watch_row(*row, *forbidden(*row, seen.kind), seen.device, kRegisters / rows.size(), *construct);
}

} // namespace omptool::check
