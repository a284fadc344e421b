// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of one construct on one device, in order. On a plugin with the asynchronous calls they form a chain of its
// events, and only wait() blocks; elsewhere each operation is done when its function returns.
//
// A construct whose operations continue after its call, or that has yet to wait for another construct's, leaves two
// events for later users of its objects: filled(), when its copies to the device have ended, and ended().
#pragma once

#include "observe/events/sink.h"
#include "per_row.h"
#include "rtl/device_memory.h"
#include "rtl/event.h"
#include "rtl/launch_shape.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omptool {

// When the program waits for the operations of a construct. kNow: until they have ended, its call does not return.
// kLater: they go on when it has returned, on any device.
enum class Waits { kNow, kLater };

class CommandList {
public:
  explicit CommandList(const DeviceMemory& memory, Waits waits = Waits::kNow) : memory_(memory), waits_(waits) {}
  // Ends events that have not been set, as done. No operation may be pending.
  ~CommandList() {
    if (chain_) [[unlikely]]
      end_events({});
  }
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  // Lets the operations that follow run after the event. Does not wait for it here. On a plugin with streams, they also
  // join the event's if that is asked for.
  void after(EventPtr event, bool joins_stream = false);
  // The events of others that have yet to be waited for.
  std::vector<EventPtr> awaited() const { return chain_ ? chain_->awaited : std::vector<EventPtr>(); }

  // Submits a copy. Returns false if the device refused it, or an operation that it follows has failed; failure() has
  // the reason. The bytes have to stay until the queue has ended.
  [[nodiscard]] bool submit(void* device, const void* host, std::int64_t size) {
    return is_immediate() ? done(memory_.submit(device, host, size)) : submit_in_order(device, host, size);
  }
  [[nodiscard]] bool retrieve(void* host, const void* device, std::int64_t size) {
    return is_immediate() ? done(memory_.retrieve(host, device, size)) : retrieve_in_order(host, device, size);
  }
  // Runs a kernel. Returns 0: handed to the device; OMPTARGET_RTL_NOT_STARTED: it has not begun, and does not; else it
  // may have begun.
  [[nodiscard]] [[gnu::always_inline]] std::int32_t run(const KernelCall& kernel, const std::string& name) {
    return is_immediate() && !observe::heard() ? run_now(kernel) : run_in_order(kernel, name);
  }
  // Returns why the last of these failed: " (reason)" or "".
  std::string failure() const { return chain_ ? chain_->failure : std::string(); }
  // Returns these bytes as they are now, valid until the queue has ended. Returns the bytes themselves where operations
  // are done when they return.
  const void* keep(const void* bytes, std::size_t size);

  bool is_later() const { return waits_ == Waits::kLater; }
  // Returns whether this list leaves events. Called under the lock under which the construct gets its position.
  bool leaves_events() const { return is_later() || memory_.chains() || has_to_wait(); }
  const EventPtr& filled() { return made(chain().filled, Event::Kind::kFilled); }
  const EventPtr& ended() { return made(chain().ended, Event::Kind::kEnded); }
  // The event of ended(), if anybody has asked for it.
  EventPtr own_end() const { return chain_ ? chain_->ended : nullptr; }
  // Sets the event filled(): the last copy to the device has been handed over, or has failed with `failure`.
  void set_filled(std::string_view failure = {}) {
    if (chain_) [[unlikely]]
      tell_filled(failure);
  }
  // All has been handed over.
  void set_handed_over() {
    if (chain_) [[unlikely]]
      hand_over_events();
  }
  // Sets the event ended(): all is done, or has failed with `failure`.
  void set_ended(std::string_view failure = {}) {
    if (chain_) [[unlikely]]
      end_events(failure);
  }

  // Returns whether nothing is pending, awaited, or failed.
  bool is_done() const { return !chain_; }
  // Blocks until all that was handed over has ended. "", or what has failed and why, as the end of a sentence. More may
  // follow.
  std::string wait() { return chain_ ? wait_for_links() : std::string(); }
  // Returns why something has failed that the operations came after, so that they have not begun; or "". Waits for the
  // end of it.
  std::string failure_of_others() const;
  // The plugin's event after which all has ended; null: it has, or it is no chain.
  tgt_event_t last() const { return chain_ && !chain_->links.empty() ? chain_->links.back().native : nullptr; }
  // Ends the list, whose end another thread has found; `why` is "" or the failure. Returns what wait() would.
  std::string has_ended(const std::string& why);

private:
  // Link: an operation that may not have ended.
  struct Link {
    tgt_event_t native;
    bool is_given;           // to an event of the chain
    observe::Operation what; // begun, if there is a listener
  };
  // Chain of pending operations, or of operations that follow those of others.
  struct Chain {
    std::vector<EventPtr> awaited; // of others, not waited for yet
    std::vector<EventPtr> behind;  // of others, which the links come after
    EventPtr stream;               // whose stream to join
    EventPtr filled, ended;        // null: no construct has to wait for them
    std::vector<Link> links;       // in their order
    std::vector<std::unique_ptr<std::byte[]>> kept;
    std::uint64_t number = 0; // in events
    std::string unsaid;       // failure that wait() has to return, too
    std::string failure;      // why the last operation failed
  };

  // Returns whether operations are immediate: on a device without queues, for a construct that has to wait for no
  // other.
  bool is_immediate() const { return !chain_ && !memory_.chains(); }
  bool has_to_wait() const { return chain_ && !chain_->awaited.empty(); }
  Chain& chain() {
    if (!chain_)
      chain_ = std::make_unique<Chain>();
    return *chain_;
  }
  const EventPtr& made(EventPtr& event, Event::Kind kind) const;

  bool done(bool is_done) {
    if (!is_done) [[unlikely]]
      chain().failure = memory_.last_error();
    return is_done;
  }
  bool submit_in_order(void* device, const void* host, std::int64_t size);
  bool retrieve_in_order(void* host, const void* device, std::int64_t size);
  [[gnu::always_inline]] std::int32_t run_now(const KernelCall& kernel) {
    const RtlFunctions& rtl = memory_.call();
    if (!done(!memory_.is_lost())) [[unlikely]]
      return OMPTARGET_RTL_NOT_STARTED;
    const std::int32_t result = run_by(rtl.run_shaped, rtl.run_target_team_region, rtl.run_target_region, kernel);
    done(result == 0);
    return result;
  }
  // Runs a kernel by the functions of one transport; asynchronous ones get `more`.
  template <typename Shaped, typename Teams, typename Plain, typename... More>
  [[gnu::always_inline]] std::int32_t run_by(Shaped shaped, Teams teams, Plain plain, const KernelCall& kernel,
                                             More... more) const {
    if (!kernel.shape.goes_to_plugin(shaped && memory_.takes_shapes(), kernel.how))
      return plain(memory_.rtl_id(), kernel.function, kernel.arguments, kernel.count, more...);
    return run_in_shape(shaped, teams, memory_.rtl_id(), kernel.function, kernel.arguments, kernel.count,
                        with_flags(kernel.shape.whole(), kernel.how).asked, more...);
  }
  std::int32_t run_in_order(KernelCall kernel, const std::string& name);
  template <typename Call, typename... Values>
  std::int32_t link(observe::Operation reported, const Call& call, const Values&... values);
  std::optional<std::int32_t> collect(PerRow<tgt_event_t>& dependences);
  bool wait_for_others();
  bool has_failed(const std::string& why);
  void begin(observe::Operation& operation);

  void tell_filled(std::string_view failure);
  void hand_over_events();
  void hand_over(Event& event);
  void end_events(std::string_view failure);
  std::string wait_for_links();

  const DeviceMemory& memory_;
  const Waits waits_;
  std::unique_ptr<Chain> chain_; // null: nothing goes on, nothing is awaited, and nothing has failed
};

} // namespace omptool
