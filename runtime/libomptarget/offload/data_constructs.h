// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs that move data and run no kernel: begin, end and update.
#pragma once

#include "offload/construct.h"

#include <optional>
#include <string>

namespace omptool {

enum class DataAction { kBegin, kEnd, kUpdate };

// They have no host version: what they cannot do ends the program, or is for the regions to find.
class BeginConstruct final : public Construct {
public:
  BeginConstruct(Device& device, Rows rows, CommandList::Use use) : Construct(device, rows, use) {}
  Placed place();
  bool settle(const Placed&, std::string&);
  std::optional<HandedOver> hand_over(Placed, std::string&);
  void finish(HandedOver);
  bool fail(HandedOver, const std::string& failure, std::string&);

private:
  void report(const std::string& failure);
  bool is_reported_ = false;
};

class EndConstruct final : public Construct {
public:
  EndConstruct(Device& device, Rows rows, CommandList::Use use) : Construct(device, rows, use) {}
  Placed place();
  std::optional<HandedOver> hand_over(Placed, std::string&);
  void finish(HandedOver);
  bool fail(HandedOver, const std::string& failure, std::string&);
};

class UpdateConstruct final : public Construct {
public:
  UpdateConstruct(Device& device, Rows rows, CommandList::Use use) : Construct(device, rows, use) {}
  Placed place();
  std::optional<HandedOver> hand_over(Placed, std::string&);
  void finish(HandedOver);
  bool fail(HandedOver, const std::string& failure, std::string&);
};

// All of one whose call waits.
void carry_out(DataAction action, Device& device, Rows rows);

} // namespace omptool
