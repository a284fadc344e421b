// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of this machine for the program of another rank: the plugins that a program here would have, called by
// their C interface. Each function does what it is asked for when it returns, but for hand_over(). Several threads may
// call any of them.
#pragma once

#include "mpi/transport/wire.h"
#include "rtl/rtl.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace omptool::worker {

using mpi::Buffer;
using mpi::Operation;
using mpi::View;

// The end of an operation: the number that the plugin's function returned, and the bytes that it gave; the reason,
// where the number is not 0.
struct Outcome {
  std::int32_t result = 0;
  Buffer bytes = {};
  static Outcome failed(std::int32_t result, std::string_view why);
  // As the plugin's last call on this thread says.
  static Outcome of(std::int32_t result, const Rtl& rtl);
};

// An operation that the queue of a device has.
class Queued {
public:
  Queued(const Rtl& rtl, std::int32_t device, tgt_event_t event, std::vector<void*> arguments)
      : rtl_(rtl), device_(device), event_(event), arguments_(std::move(arguments)) {}
  ~Queued() { rtl_.call().release_dep(event_); }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;

  bool is_of(const Rtl& rtl, std::int32_t device) const { return &rtl == &rtl_ && device == device_; }
  tgt_event_t event() const { return event_; }
  // Returns what the operation's end is.
  std::int32_t wait() const { return rtl_.call().wait_event(event_); }
  // True for the first that asks: its operation is the next in the stream of this one.
  bool takes_next() const { return !has_next_.exchange(true); }

private:
  const Rtl& rtl_;
  const std::int32_t device_;
  const tgt_event_t event_;
  const std::vector<void*> arguments_; // of a kernel, which may read them until it ends
  mutable std::atomic<bool> has_next_{false};
};
using QueuedPtr = std::shared_ptr<const Queued>;

class Backend {
public:
  Backend();

  // `rank` is this process's, `node` its machine.
  std::vector<mpi::DeviceOfWorker> describe(int rank, const std::string& node) const;
  // Everything but copies whose bytes travel alone, which have the two functions below.
  Outcome perform(const Operation& operation);
  // Returns whether the device's queue takes the operation: then hand_over() and await() are called in place of it.
  bool has_queue_for(const Operation& operation) const;
  // Returns whether the queue that takes the operation has the other one.
  bool can_follow(const Operation& operation, const Queued& before) const;
  // Queues the operation behind others of its device. `outcome`, into which it copies, stays until it has ended. Null:
  // the outcome is that it has failed.
  QueuedPtr hand_over(const Operation& operation, const std::vector<QueuedPtr>& behind, Outcome& outcome) const;
  void await(const Operation& operation, const Queued& queued, Outcome& outcome) const;
  Outcome submit(const Operation& operation, View bytes);
  Outcome retrieve(const Operation& operation) const { return retrieve(device_of(operation), operation); }
  // Throws mpi::Malformed: there is no such device.
  bool is_in_host_memory(const Operation& operation) const; // the operation's device has memory that MPI can use
  void add_image(std::uint64_t number, Buffer bytes);

private:
  struct Device {
    Rtl* rtl;
    std::int32_t number;
  };
  // An image as its plugin knows it: by the address of the record.
  struct LoadedImage {
    std::shared_ptr<const Buffer> bytes;
    std::vector<mpi::Entry> entries;
    std::vector<__tgt_offload_entry> records;
    __tgt_device_image image;
    const void* has_tables = nullptr; // host_tables.h has some of the image, which has this variable
  };

  const Device& device_of(const Operation& operation) const;
  Outcome retrieve(const Device& device, const Operation& operation) const;
  Outcome fill(const Device& device, const Operation& operation) const;
  Outcome copy(const Device& device, const Operation& operation) const;
  Outcome run(const Device& device, const Operation& operation) const;
  Outcome allocate(const Device& device, const Operation& operation) const;
  Outcome load(const Device& device, const Operation& operation);
  Outcome unload(const Device& device, const Operation& operation);

  std::vector<std::unique_ptr<Rtl>> rtls_;
  std::vector<Device> devices_;
  std::mutex mutex_; // the members below
  std::map<std::uint64_t, std::shared_ptr<const Buffer>> images_;
  std::map<std::uint64_t, std::unique_ptr<LoadedImage>> loaded_;
};

} // namespace omptool::worker
