// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queues.h"

#include "arguments.h"
#include "rtl/launch_shape.h"

#include <utility>

namespace omptool::worker {

bool Queues::has_queue_for(const Operation& operation) const {
  using mpi::Kind;
  const auto number = static_cast<std::size_t>(operation.device);
  const bool may_be_queued = operation.tag == 0 && (operation.kind == Kind::kJoin || operation.kind == Kind::kSubmit ||
                                                    operation.kind == Kind::kRetrieve ||
                                                    operation.kind == Kind::kFill || operation.kind == Kind::kRun);
  if (!may_be_queued || number >= devices_.all.size() || !devices_.all[number].rtl->has_queues())
    return false;
  const RtlFunctions& call = devices_.all[number].rtl->call();
  const std::int32_t id = devices_.all[number].number;
  return call.wait_event && (!call.prefers_queues || call.prefers_queues(id)) &&
         !(call.moves_like_memmove && call.moves_like_memmove(id));
}

bool Queues::can_follow(const Operation& operation, const Queued& before) const {
  const Device& device = devices_.of(operation);
  return before.is_of(*device.rtl, device.number);
}

QueuedPtr Queues::hand_over(const Operation& operation, const std::vector<QueuedPtr>& behind, Outcome& outcome) const {
  using mpi::Kind;
  const Device& device = devices_.of(operation);
  const RtlFunctions& call = device.rtl->call();
  std::vector<tgt_event_t> events; // the first names the stream
  if (behind.empty() || !behind.front()->takes_next())
    events.push_back(nullptr);
  for (const QueuedPtr& one : behind)
    events.push_back(one->event());
  const auto count = static_cast<std::int32_t>(events.size());
  const auto size = static_cast<std::int64_t>(operation.size);
  KernelArguments arguments;
  tgt_event_t event = nullptr;
  const auto queue = [&](auto function, auto... values) {
    return function(device.number, values..., count, events.data(), &event);
  };
  const auto submit = [&](const std::byte* bytes, std::size_t length) {
    return queue(call.async_data_submit, pointer(operation.target), pointer(reinterpret_cast<std::uint64_t>(bytes)),
                 static_cast<std::int64_t>(length));
  };
  const auto fill = [&] {
    const std::int32_t result = call.async_data_fill
                                    ? queue(call.async_data_fill, pointer(operation.target), operation.value, size)
                                    : OMPTARGET_RTL_NOT_STARTED;
    if (result != OMPTARGET_RTL_NOT_STARTED)
      return result;
    outcome.bytes.assign(operation.size, static_cast<std::byte>(operation.value));
    return submit(outcome.bytes.data(), outcome.bytes.size());
  };
  const auto retrieve = [&] {
    outcome.bytes.resize(size_with_answer(operation));
    return queue(call.async_data_retrieve, pointer(reinterpret_cast<std::uint64_t>(outcome.bytes.data())),
                 pointer(operation.source), size);
  };
  const auto run = [&] {
    arguments = arguments_of(operation);
    if (!arguments.has_shape)
      return queue(call.async_run_target_region, pointer(operation.target), arguments.first, arguments.count);
    return run_in_shape(call.async_run_shaped, call.async_run_target_team_region, device.number,
                        pointer(operation.target), arguments.first, arguments.count, operation.shape, count,
                        events.data(), &event);
  };
  const std::int32_t result = operation.kind == Kind::kSubmit ? submit(operation.bytes.data(), operation.bytes.size())
                              : operation.kind == Kind::kRetrieve ? retrieve()
                              : operation.kind == Kind::kFill     ? fill()
                              : operation.kind == Kind::kRun      ? run()
                                                                  : queue(call.async_dep);
  if (result == 0)
    return std::make_shared<const Queued>(*device.rtl, device.number, event, std::move(arguments.words));
  outcome = Outcome::of(result, *device.rtl);
  return nullptr;
}

void Queues::await(const Operation& operation, const Queued& queued, Outcome& outcome) const {
  const Rtl& rtl = *devices_.of(operation).rtl;
  if (const std::int32_t result = queued.wait(); result != 0)
    outcome = Outcome::of(result, rtl);
  else if (operation.kind != mpi::Kind::kRetrieve)
    outcome.bytes.clear();
}

} // namespace omptool::worker
