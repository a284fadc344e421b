// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of this machine for the program of another rank: the plugins that a program here would have, called by
// their C interface. Each function does what it is asked for when it returns. Several threads may
// call any of them.
#pragma once

#include "queues.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace omptool::worker {

class Backend {
public:
  Backend();

  // Describes the devices of this process. `rank` is its rank, `node` its machine.
  std::vector<mpi::DeviceOfWorker> describe(int rank, const std::string& node) const;
  // Performs everything but copies whose bytes travel alone, which have the two functions below.
  Outcome perform(const Operation& operation);
  const Queues& queues() const { return queues_; }
  Outcome submit(const Operation& operation, View bytes);
  Outcome retrieve(const Operation& operation) const { return retrieve(devices_.of(operation), operation); }
  // Throws mpi::Malformed: there is no such device.
  bool is_in_host_memory(const Operation& operation) const; // the operation's device has memory that MPI can use
  void add_image(std::uint64_t number, Buffer bytes);

private:
  // Loaded image; its plugin identifies it by the address of the record.
  struct LoadedImage {
    std::shared_ptr<const Buffer> bytes;
    std::vector<mpi::Entry> entries;
    std::vector<__tgt_offload_entry> records;
    __tgt_device_image image;
    const void* has_tables = nullptr; // host_tables.h has some of the image, which has this variable
  };

  Outcome retrieve(const Device& device, const Operation& operation) const;
  Outcome fill(const Device& device, const Operation& operation) const;
  Outcome copy(const Device& device, const Operation& operation) const;
  Outcome run(const Device& device, const Operation& operation) const;
  Outcome allocate(const Device& device, const Operation& operation) const;
  Outcome load(const Device& device, const Operation& operation);
  Outcome unload(const Device& device, const Operation& operation);

  std::vector<std::unique_ptr<Rtl>> rtls_;
  Devices devices_;
  Queues queues_{devices_};
  std::mutex mutex_; // the members below
  std::map<std::uint64_t, std::shared_ptr<const Buffer>> images_;
  std::map<std::uint64_t, std::unique_ptr<LoadedImage>> loaded_;
};

} // namespace omptool::worker
