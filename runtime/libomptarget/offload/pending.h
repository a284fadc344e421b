// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct that has taken its place, and whose operations follow when its call has returned (decision 24). On a
// device with queues they are handed over as soon as the device can order them behind what they wait for; on any other
// a worker does them when that has ended.
#pragma once

#include "devices/registry.h"
#include "offload/data_constructs.h"
#include "offload/outstanding.h"
#include "offload/placement.h"
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
  // Counts, allocates, returns addresses. False, and why: it cannot be done on the device.
  [[nodiscard]] virtual bool place(std::string& reason) = 0;
  // Of a region that has been placed: private data is read at once, rather than when its turn comes.
  virtual void read_private() {}
  // Once it has been placed. False, and why: it will not be done. Else it is outstanding, and ends by itself.
  [[nodiscard]] bool go(std::string& reason);
  // It has not gone: undoes its place, when all that it should come after has ended.
  virtual void abandon() = 0;

protected:
  // The rows are copied.
  Pending(Device& device, Rows rows, const outstanding::Callback& callback)
      : device_(device), rows_(rows.begin(), rows.end()), callback_(callback) {}

  // Hands the operations over. False, and why: nothing has begun.
  virtual bool start(std::string& reason) = 0;
  // They have ended; "" or why one has failed.
  virtual void finish(const std::string& failure) = 0;
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

// A region; what its kernel names is kept from being unloaded.
std::shared_ptr<Pending> pending_region(Device& device, Placement placement, std::shared_ptr<const Kernel> kernel,
                                        const Resolved& there, Rows rows, const AskedShape& shape,
                                        const outstanding::Callback& callback);
std::shared_ptr<Pending> pending_data(DataAction action, Device& device, Rows rows,
                                      const outstanding::Callback& callback);

} // namespace omptool
