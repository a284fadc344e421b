// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of this machine for the program of another rank: the plugins that a program here would have, called by
// their C interface. Each function does what it is asked for when it returns. Several threads may call any of them.
#pragma once

#include "mpi/transport/wire.h"
#include "rtl/rtl.h"

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
};

class Backend {
public:
  Backend();

  std::vector<mpi::DeviceOfWorker> describe() const;
  // Everything but copies whose bytes travel alone, which have the two functions below.
  Outcome perform(const Operation& operation);
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
