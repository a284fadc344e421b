// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct that has taken its place, and whose operations follow when its call has returned (decision 24). On a
// device with queues they are handed over as soon as the device can order them behind what they wait for; on any other
// a worker does them when that has ended.
#pragma once

#include "devices/registry.h"
#include "offload/data_construct.h"
#include "offload/outstanding.h"
#include "offload/placement.h"
#include "offload/region.h"
#include "rtl/command_list.h"

#include <memory>
#include <string>
#include <vector>

namespace omptool {

class Pending : public std::enable_shared_from_this<Pending> {
public:
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  virtual ~Pending() = default;

  virtual CommandList& commands() = 0;
  // Once it has its place. Returns why it will not be done, or "": it is outstanding, and ends by itself.
  std::string go();

protected:
  // The rows are copied; where they say that addresses are returned, that is done at once.
  Pending(Device& device, Rows rows, const outstanding::Callback& callback)
      : device_(device), rows_(rows.begin(), rows.end()), callback_(callback) {}

  // Hands the operations over. Returns why nothing has begun, or "".
  virtual std::string start() = 0;
  // They have ended; "" or why one has failed.
  virtual void finish(const std::string& failure) = 0;
  // How messages name it.
  virtual std::string name() const = 0;

  Device& device_;
  const std::vector<Row> rows_;

private:
  bool goes_at_once();
  bool is_its_turn(const Event& event) const;
  bool wait_for_turn();
  void proceed();
  void run_later();
  void run();
  void started();
  void end(const std::string& failure);

  const outstanding::Callback callback_;
  bool is_chained_ = false; // the device orders it behind what it awaits
};

// A region; what it names is kept from being unloaded.
class PendingRegion final : public Pending {
public:
  PendingRegion(Device& device, Placement placement, std::shared_ptr<const Kernel> kernel, const Resolved& there,
                Rows rows, const LaunchShape& shape, const outstanding::Callback& callback)
      : Pending(device, rows, callback), placement_(std::move(placement)), kernel_(std::move(kernel)),
        region_(device, *kernel_, there, rows_, shape, CommandList::Use::kLater) {}
  CommandList& commands() override { return region_.commands(); }
  // Counts, allocates, returns addresses. Returns why it cannot be done on the device, or "".
  std::string take_position();
  // After that: private data is read at once, rather than when its turn comes.
  void read_private() { region_.read_private(); }
  // It has not gone: undoes its place, when all that it should come after has ended.
  void abandon();

private:
  std::string start() override;
  void finish(const std::string& failure) override;
  std::string name() const override { return "region " + kernel_->name; }

  Placement placement_;
  const std::shared_ptr<const Kernel> kernel_;
  Region region_;
};

// A call that moves data.
class PendingData final : public Pending {
public:
  PendingData(DataAction action, Device& device, Rows rows, const outstanding::Callback& callback)
      : Pending(device, rows, callback), construct_(later_construct(action, device, rows_)) {}
  CommandList& commands() override { return construct_->commands(); }
  // Counts, allocates, returns addresses.
  void take_position() { construct_->take_position(); }

private:
  std::string start() override { return construct_->start(), std::string(); }
  void finish(const std::string& failure) override { construct_->finish(failure); }
  std::string name() const override { return "an asynchronous data call"; }

  const std::unique_ptr<DataConstruct> construct_;
};

} // namespace omptool
