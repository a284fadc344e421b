// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/full.h"

#include "check/findings.h"
#include "check/full/contents.h"
#include "check/full/faults.h"
#include "check/full/guarded.h"
#include "check/full/host_watch.h"
#include "check/full/names.h"
#include "check/full/unfinished.h"
#include "observe/events/sink.h"
#include "process/per_process.h"

#include <variant>

namespace omptool::check {
namespace {

using observe::Operation;

// The thread had blocked the signal of faults before it launched a kernel.
constinit thread_local bool was_blocked [[gnu::tls_model("initial-exec")]] = false;

void before_launch(const Operation& launch) {
  watch_faults();
  launch_begins(launch);
  name_kernel(launch);
  close_unwritten();
  was_blocked = unblock_faults();
}

void after_launch(const Operation& launch) {
  launch_ends(launch);
  if (was_blocked)
    block_faults();
  was_blocked = false;
}

// Names the objects of a construct, because findings of kernels name variables.
void name_objects(const observe::RowsSeen& seen) {
  const observe::Begun* const construct = observe::construct_here();
  if (!construct || seen.kind != observe::RowsSeen::Kind::kMapped)
    return;
  for (const observe::RowSeen& row : seen.rows)
    if (GuardedObject* const object = row.object && row.object->fresh ? guarded_object(row.object->device) : nullptr) {
      const std::string_view name = variable_at(construct->call, row.begin);
      object->name[name.copy(object->name.data(), object->name.size() - 1)] = '\0';
    }
}

class FullListener final : public observe::Listener {
public:
  void hear(const observe::Event& event) override {
    PerProcess<Contents>::get().hear(event);
    PerProcess<Unfinished>::get().hear(event);
    if (const auto* const seen = observe::as<observe::RowsSeen>(event))
      name_objects(*seen);
    else if (const auto* const begins = observe::as<observe::OperationBegins>(event)) {
      if (begins->operation.kind == Operation::Kind::kLaunch)
        before_launch(begins->operation);
    } else if (const auto* const ends = observe::as<observe::OperationEnds>(event)) {
      if (ends->operation.kind == Operation::Kind::kLaunch)
        after_launch(ends->operation);
    } else if (const auto* const over = observe::as<observe::ConstructEnds>(event)) {
      if (over->call.action != observe::Action::kRegion) {
        watch_faults();
        close_unwritten();
      }
    } else if (observe::as<observe::ImageUnloaded>(event)) {
      forget_images();
    }
  }
};

class Guard final : public observe::MemoryGuard {
public:
  bool guards(int device, std::int32_t (*in_kernel)()) override {
    if (!in_kernel || !faults_are_readable()) {
      Finding finding{Code::kNotChecked,
                      "nobody checks what kernels on this device do with memory, nor what is copied"};
      finding.device = device;
      record(finding);
      return false;
    }
    know_plugin(in_kernel);
    PerProcess<Contents>::get().check(device);
    return true;
  }
  std::byte* allocate(const observe::MemoryRequest& request) override { return allocate_guarded(request); }
  bool release(void* memory) override { return release_guarded(memory); }
  void note_use(const void* there, std::size_t size, bool writes) override { check::note_use(there, size, writes); }
};
constinit Guard the_guard;

} // namespace

void start_full(const void* core) {
  if (level() != Level::kFull)
    return;
  know_runtime(core);
  static FullListener* const only = new FullListener; // threads go on while the process exits
  subscribe(*only);
}

observe::MemoryGuard* memory_guard() {
  return level() == Level::kFull ? &the_guard : nullptr;
}

} // namespace omptool::check
