// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of one construct on one device, in their order. Where the plugin has the asynchronous calls they
// are a chain of its events, and only wait() blocks; elsewhere each is done when its function returns.
//
// A construct whose operations go on when its next line runs, or that has yet to wait for another's, leaves two
// events for those who use its objects: filled(), when its copies to the device have ended, and ended().
#pragma once

#include "observe/events.h"
#include "rtl/device_memory.h"
#include "rtl/event.h"
#include "rtl/launch_shape.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace omptool {

class CommandList {
public:
  // kLater: what it does goes on when the call that made it returns, on any device.
  enum class Use { kNow, kLater };
  explicit CommandList(const DeviceMemory& memory, Use use = Use::kNow) : memory_(memory), use_(use) {}
  // Nothing of it may be going on; events that have not been set are done.
  ~CommandList();
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  // Lets the operations that follow run after the event. Does not wait for it here.
  void after(EventPtr event);
  // The same; on a plugin with streams, the operations that follow also join the event's.
  void in_stream_of(const EventPtr& event);
  // Events that have yet to end have been given.
  bool has_to_wait() const { return !awaited_.empty(); }
  const std::vector<EventPtr>& awaited() const { return awaited_; }

  // False: the device did not take it, or what it had to come after has failed; failure() says why. The bytes have to
  // stay until the queue has ended.
  [[nodiscard]] bool submit(void* device, const void* host, std::int64_t size);
  [[nodiscard]] bool retrieve(void* host, const void* device, std::int64_t size);
  [[nodiscard]] bool fill(void* device, int value, std::int64_t size);
  // From memory of another device, or this one.
  [[nodiscard]] bool exchange(void* device, const DeviceMemory& other, const void* source, std::int64_t size);
  // 0: handed to the device. OMPTARGET_RTL_NOT_STARTED: it has not begun, and does not. Else: it may have begun.
  [[nodiscard]] std::int32_t run(void* function, void** arguments, std::int32_t count, const LaunchShape& shape,
                                 const std::string& name);
  // Returns why the last of these failed: " (reason)" or "".
  const std::string& failure() const { return failure_; }
  // Returns these bytes as they are now, valid until the queue has ended. Returns the bytes themselves where operations
  // are done when they return.
  const void* keep(const void* bytes, std::size_t size);

  // To be asked under the lock under which the construct takes its place.
  bool leaves_events() const { return use_ == Use::kLater || memory_.chains() || has_to_wait(); }
  const EventPtr& filled();
  const EventPtr& ended();
  // The event of ended(), if anybody has asked for it.
  const EventPtr& own_end() const { return ended_; }
  // The last copy to the device has been handed over, or has failed.
  void set_filled();
  // All has been handed over.
  void set_handed_over();
  // All is done; "" or why not.
  void set_ended(const std::string& failure);

  // Blocks until all that was handed over has ended. "", or what has failed and why, as the end of a sentence. More may
  // follow.
  std::string wait();
  // The plugin's event after which all has ended; null: it has, or it is no chain.
  tgt_event_t last() const { return links_.empty() ? nullptr : links_.back().native; }

  // All that was handed over has ended, as somebody else has found out; `why` is "" or why it failed. As wait().
  std::string has_ended(const std::string& why);

private:
  template <typename Call> std::int32_t chain(observe::Operation reported, const Call& call);
  template <typename Work> bool done_now(const Work& work);
  bool wait_for_others();
  bool is_there();
  observe::Operation tell(observe::Operation operation);
  bool collect(const std::vector<EventPtr>& behind, std::vector<tgt_event_t>& dependences);
  void join();
  std::string describe_failure(const std::string& why) const;
  void hand_over(Event& event);

  const DeviceMemory& memory_;
  const Use use_;
  std::vector<EventPtr> awaited_; // of others, not waited for yet
  EventPtr stream_;               // whose stream to join
  EventPtr filled_, ended_;       // null: nobody has asked for them
  struct Link {
    tgt_event_t native;
    bool is_given;           // to filled_ or ended_
    observe::Operation what; // begun, where somebody listens
  };
  std::vector<Link> links_; // that may not have ended, in their order
  std::deque<std::vector<std::byte>> kept_;
  std::uint64_t number_ = 0; // as those who listen know it
  std::string failure_;
  std::string unsaid_; // what wait() has to return, besides
};

} // namespace omptool
