// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.mpi.so: the devices of the other ranks of an MPI job, each of which runs `omptool worker`. It lies
// in a folder of its own, so that only programs that name it (omptool run --workers does) have it.
//
//   OMPTOOL_MPI=FILE          the library of MPI that is opened, where the program has none
//   OMPTOOL_MPI_HEARTBEAT=N   seconds of silence after which a worker is lost; 0: none is
#include "plugin.h"

#include "backoff.h"
#include "device.h"
#include "image_kind.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>

namespace omptool::mpi {
namespace {

struct Known {
  Place place;
  DeviceOfWorker device;
};

// Returns the devices of all workers. Devices of one plugin are neighbours, so that each triple has one range of
// numbers.
std::vector<Known> devices_of(const Crew& crew) {
  std::vector<Known> all;
  for (std::size_t i = 0; i < crew.greetings.size(); ++i)
    for (std::size_t number = 0; number < crew.greetings[i].devices.size(); ++number)
      all.push_back({{i + 1, static_cast<std::int32_t>(number)}, crew.greetings[i].devices[number]});
  std::sort(all.begin(), all.end(), [](const Known& one, const Known& other) {
    return std::tie(one.device.plugin, one.place.worker, one.place.number) <
           std::tie(other.device.plugin, other.place.worker, other.place.number);
  });
  return all;
}

Plugin* the_one() {
  return static_cast<Plugin*>(plugin::known_plugin());
}

// Returns the first worker that is lost, and why: a view into the plugin, which is never destroyed. "": none is.
std::string_view dismiss_workers(Plugin& known) {
  known.queue.dismiss();
  return known.queue.first_loss();
}

void warn(std::string_view what, std::string_view why) {
  std::fprintf(stderr, "omptarget: plugin mpi: %.*s (%.*s)\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(why.size()), why.data());
}

// In the program's own MPI_Finalize, which cannot be skipped.
void end_in_finalize() {
  Plugin* const known = the_one();
  if (!known)
    return;
  if (const std::string_view loss = dismiss_workers(*known); !loss.empty())
    warn("this MPI_Finalize may wait for ever", loss);
}

// Ends the job when the program exits. A launcher ends a job with its own exit code if a process ends without
// MPI_Finalize. Workers that this program never met need that, because they wait forever.
void end_at_exit() {
  Plugin* const known = the_one();
  if (!known || !known->queue.session().mpi)
    return;
  const std::string_view loss = dismiss_workers(*known);
  Session& session = known->queue.session();
  try {
    if (!session.is_ours || !session.reason.empty() || session.mpi->is_finalized())
      return;
    if (loss.empty())
      session.mpi->finalize();
    else
      warn("the program ends without MPI_Finalize, which its launcher may report as an error", loss);
  } catch (const Error& error) { // the process ends all the same
    warn("the program may end without MPI_Finalize, which its launcher may report as an error", error.what());
  }
}

} // namespace

Plugin::Plugin(Session session) : queue(events, std::move(session)) {
  reason = queue.session().reason;
  has_failed = !reason.empty() && reason != plugin::kIsChild;
  if (!reason.empty())
    return;
  for (Known& known : devices_of(queue.session().crew))
    devices.push_back(std::make_unique<Device>(known.place, std::move(known.device), queue, images));
  if (devices.empty())
    reason = "no worker has a device";
  has_failed = devices.empty();
}

bool Plugin::process() {
  plugin::Events::Lock lock = events.lock();
  return queue.progress(lock);
}

bool Plugin::can_order(const plugin::Device& from, const plugin::Device& to) const {
  return static_cast<const Device&>(from).place().worker == static_cast<const Device&>(to).place().worker;
}

} // namespace omptool::mpi

namespace omptool::plugin {

// Makes the one plugin of the process, because MPI starts once. The first caller makes it; the others wait.
std::unique_ptr<Plugin> make_plugin(bool is_child) {
  if (is_child) {
    mpi::Session none;
    none.reason = kIsChild;
    return std::make_unique<mpi::Plugin>(std::move(none));
  }
  static constinit std::atomic<bool> has_started{false};
  if (has_started.exchange(true)) {
    for (Backoff backoff; !known_plugin();)
      backoff.pause();
    return std::make_unique<mpi::Plugin>(mpi::Session()); // the caller keeps the known one
  }
  mpi::Session session = mpi::start_session();
  std::atexit(mpi::end_at_exit);
  if (session.reason.empty() && !session.is_ours)
    session.mpi->when_finalizing(mpi::end_in_finalize);
  return std::make_unique<mpi::Plugin>(std::move(session));
}

std::string fault_of_image(Bytes image) {
  const mpi::ImageKind kind = mpi::kind_of(image);
  const Plugin* const known = known_plugin();
  if (!known || !known->reason.empty())
    return kind == mpi::ImageKind::kUnknown ? "it is no image that workers take" : "";
  const bool any = std::any_of(known->devices.begin(), known->devices.end(), [&](const auto& device) {
    return static_cast<const mpi::Device&>(*device).may_take(kind);
  });
  return any ? "" : "no worker has a device that takes such images";
}

} // namespace omptool::plugin

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_kernels_make_teams(int32_t device_id) {
  return omptool::plugin::of_device(device_id, 0, [](omptool::plugin::Device& device) {
    return static_cast<omptool::mpi::Device&>(device).makes_teams() ? 1 : 0;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_takes_shape(int32_t device_id, void* target_entry_ptr) {
  return omptool::plugin::of_device(device_id, 0, [&](omptool::plugin::Device& device) {
    return static_cast<omptool::mpi::Device&>(device).takes_shape(target_entry_ptr) ? 1 : 0;
  });
}

OMPTOOL_RTL_EXPORT tgt_target_table* __tgt_rtl_load_indirect(int32_t device_id, __tgt_device_image* image,
                                                             const int64_t* extents) {
  return omptool::plugin::on_device(device_id, static_cast<tgt_target_table*>(nullptr),
                                    [&](omptool::plugin::Device& device) {
                                      return static_cast<omptool::mpi::Device&>(device).load(*image, extents);
                                    });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_event_times(tgt_event_t completion_event, uint64_t* began, uint64_t* ended) {
  return omptool::safely(0, [&] {
    omptool::plugin::Events& events = omptool::plugin::of_process().events;
    const omptool::plugin::Events::Lock lock = events.lock();
    const auto* const known = events.look_up<omptool::mpi::Pending>(completion_event);
    if (!known || !known->is_done || known->ran.ended == 0)
      return 0;
    *began = static_cast<uint64_t>(known->ran.began);
    *ended = static_cast<uint64_t>(known->ran.ended);
    return 1;
  });
}

// For measurements: messages to workers and from them, without those that carry large copies.
OMPTOOL_RTL_EXPORT void __tgt_rtl_mpi_messages(uint64_t* sent, uint64_t* received) {
  auto& all = static_cast<omptool::mpi::Plugin&>(omptool::plugin::of_process());
  const omptool::plugin::Events::Lock lock = all.events.lock();
  *sent = all.queue.counts().sent;
  *received = all.queue.counts().received;
}
