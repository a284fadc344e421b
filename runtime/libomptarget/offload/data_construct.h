// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs that move data and run no kernel: begin, end and update. Each has one body, in three steps, which
// calls that wait drive to the end, and asynchronous ones as far as they can.
#pragma once

#include "devices/registry.h"
#include "rtl/command_list.h"

#include <memory>
#include <string>

namespace omptool {

enum class DataAction { kBegin, kEnd, kUpdate };

class DataConstruct {
public:
  DataConstruct(const DataConstruct&) = delete;
  DataConstruct& operator=(const DataConstruct&) = delete;
  virtual ~DataConstruct() = default;

  // First: counts, allocates, and returns addresses at once where the call does not wait.
  virtual void take_position() = 0;
  // Hands the operations over.
  virtual void start() = 0;
  // They have ended; "" or why one has failed.
  virtual void finish(const std::string& failure) = 0;

  CommandList& commands() { return commands_; }
  // All of it, of a call that waits.
  void carry_out();

protected:
  // Device and rows have to live as long as this.
  DataConstruct(Device& device, Rows rows, CommandList::Use use)
      : device_(device), rows_(rows), use_(use), held_(rows.size()), commands_(device.memory, use) {}

  Device& device_;
  const Rows rows_;
  const CommandList::Use use_;
  Held held_;
  CommandList commands_; // last: what it uses outlives it
};

class BeginConstruct final : public DataConstruct {
public:
  BeginConstruct(Device& device, Rows rows, CommandList::Use use) : DataConstruct(device, rows, use) {}
  void take_position() override;
  void start() override;
  void finish(const std::string& failure) override;

private:
  void report(const std::string& failure);
  bool is_reported_ = false;
};

class EndConstruct final : public DataConstruct {
public:
  EndConstruct(Device& device, Rows rows, CommandList::Use use) : DataConstruct(device, rows, use) {}
  void take_position() override;
  void start() override;
  void finish(const std::string& failure) override;
};

class UpdateConstruct final : public DataConstruct {
public:
  UpdateConstruct(Device& device, Rows rows, CommandList::Use use) : DataConstruct(device, rows, use) {}
  void take_position() override;
  void start() override;
  void finish(const std::string& failure) override;
};

// Returns a construct that goes on when its call has returned.
std::unique_ptr<DataConstruct> later_construct(DataAction action, Device& device, Rows rows);

} // namespace omptool
