// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/narrator.h"

#include "abi/llvm/call_log.h"
#include "abi/llvm/info.h"
#include "abi/llvm/source.h"
#include "abi/llvm/tables.h"
#include "observe/sink.h"
#include "process/message.h"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace omptool::llvm {
namespace {

class Narrator : public observe::Listener {
public:
  void hear(const observe::Event& event) override {
    std::visit([this](const auto& one) { on(one); }, event);
  }
  // Null: nothing is to be told of the construct.
  CallLog* find(std::uint64_t construct) {
    const std::lock_guard lock(mutex_);
    const auto at = logs_.find(construct);
    return at == logs_.end() ? nullptr : at->second.get();
  }

private:
  void on(const observe::ConstructBegins& event) {
    if (event.call.action == observe::Action::kRoutine)
      return;
    const std::lock_guard lock(mutex_);
    logs_.emplace(event.construct, std::make_unique<CallLog>(event.call.device));
  }
  void on(const observe::ConstructEnds& event) {
    if (const std::unique_ptr<CallLog> log = take(event.construct)) {
      log->flush();
      if (informs(kInfoTable) && !event.failed)
        tell_tables(place_of_construct(event.call.source).text());
    }
  }
  void on(const observe::RowsSeen& event) {
    if (CallLog* const log = find(event.construct))
      log->add(event);
  }
  void on(const observe::ObjectCopied& event) {
    if (CallLog* const log = find(event.construct))
      log->add(event);
    else if (informs(kInfoCopies))
      inform(event.device, "%s", describe(event).c_str());
  }
  void on(const observe::OperationBegins& event) {
    CallLog* const log = find(event.operation.construct);
    if (log && event.operation.kind == observe::Operation::Kind::kLaunch)
      log->launching(event.operation.entry, event.operation.shape_is_plugins);
  }
  void on(const observe::ObjectAsked& event) {
    if (!event.object || !informs(kInfoFound))
      return;
    const observe::ObjectSeen& object = *event.object;
    inform(event.device,
           "Mapping exists with HstPtrBegin=%s, TgtPtrBegin=%s, Size=1, DynRefCount=%s (update suppressed), "
           "HoldRefCount=%lld",
           hex(event.address).c_str(), hex(object.at(reinterpret_cast<std::uintptr_t>(event.address))).c_str(),
           object.infinite ? "INF" : std::to_string(object.references).c_str(), static_cast<long long>(object.holds));
  }
  template <typename Other> void on(const Other&) {} // nothing that LLVM's users know

  std::unique_ptr<CallLog> take(std::uint64_t construct) {
    const std::lock_guard lock(mutex_);
    const auto node = logs_.extract(construct);
    return node ? std::move(node.mapped()) : nullptr;
  }

  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<CallLog>> logs_; // of the constructs that have begun
};

// Never destroyed: threads may still map while the process exits.
Narrator& narrator() {
  static Narrator* const only = new Narrator;
  return *only;
}

std::atomic<bool> info_known{false};

void put(std::uint32_t bits) {
  info_bits = bits;
  if (bits)
    observe::subscribe(narrator());
  else
    observe::unsubscribe(narrator());
}

} // namespace

void read_info() {
  if (info_known.exchange(true))
    return;
  const char* value = ::secure_getenv("LIBOMPTARGET_INFO");
  if (!value || !*value)
    return;
  char* end = nullptr;
  errno = 0;
  const long long bits = std::strtoll(value, &end, 0);
  if (errno != 0 || *end != '\0' || bits < -1 || bits > UINT32_MAX)
    say("the runtime ignores LIBOMPTARGET_INFO=%s; known values: integers from -1 to 4294967295", value);
  else
    put(static_cast<std::uint32_t>(bits));
}

void set_info(std::uint32_t bits) {
  info_known = true;
  put(bits);
}

void name_rows(std::size_t count, const char* declared) {
  if (CallLog* const log = narrator().find(observe::Construct::current()))
    log->name_rows(count, declared);
}

} // namespace omptool::llvm
