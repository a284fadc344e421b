// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region on its way through a device: its position among the constructs, its copies and its kernel, its end.
#pragma once

#include "offload/arguments.h"
#include "offload/construct.h"
#include "offload/private_copies.h"
#include "rtl/launch_shape.h"

#include <string>

namespace omptool {

// Maps, runs the resolved kernel, unmaps, and waits for it all. False, and why: the region has to run on the host, and
// nothing of it is left on the device. Ends the program when the device fails once the kernel is running.
[[nodiscard]] bool run_on_device(Device& device, const Kernel& kernel, const Resolved& there, Rows rows,
                                 const AskedShape& shape, std::string& reason);

class Region final : public Construct {
public:
  // All that is named here has to live as long as this. Of a call that returns before (kLater), the region's objects
  // are released when it is placed, though they are used until finish().
  Region(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const AskedShape& shape,
         CommandList::Use use)
      : Construct(device, rows, use), kernel_(kernel), there_(there), shape_(shape),
        copies_(device, kernel.name, held_.flags & kPrivate ? rows.size() : 0), arguments_(there.how, rows.size()) {}

  Placed place() override;
  bool settle(const Placed&, std::string& reason) override;
  void read_private(const Placed&) override;
  std::optional<HandedOver> hand_over(Placed, std::string& reason) override;
  void abandon(Placed) override;
  void finish(HandedOver) override;
  bool fail(HandedOver, const std::string& failure, std::string& reason) override;
  std::string name() const override { return "region " + kernel_.name; }

private:
  bool fill(std::string& reason);
  bool run(std::string& reason);
  bool take_back(std::int32_t result, std::uint64_t noted, std::string& reason);
  bool resolve_arguments(std::string& reason);
  bool fill_private(std::string& reason);
  bool bring_up_to_date(std::string& reason);
  void release(Release how);

  const Kernel& kernel_;
  const Resolved& there_;
  const AskedShape& shape_;
  PrivateCopies copies_;
  Arguments arguments_;
  bool resolved_ = false;
};

} // namespace omptool
