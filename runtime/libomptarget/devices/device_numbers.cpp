// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/device_numbers.h"

#include "observe/events/sink.h"
#include "process/message.h"

#include <algorithm>
#include <utility>

namespace omptool {

int DeviceNumbers::peers_of(const Device& device) const {
  int same = 0;
  for (int number = 0; number < count(); ++number)
    same += &this->device(number)->rtl == &device.rtl ? 1 : 0;
  return same;
}

void DeviceNumbers::open_rtls() {
  if (are_found_.load(std::memory_order_acquire))
    return;
  std::vector<UnreadFolder> unread;
  std::vector<std::unique_ptr<Rtl>> found = find_rtls(&unread);
  static std::atomic<bool> is_reported{false};
  if (!is_reported.exchange(true)) { // faults that end the use neither of a plugin nor of all of them
    for (const UnreadFolder& folder : unread)
      say("OMPTOOL_PLUGIN_PATH names %s, which cannot be read: %s", folder.path.c_str(), folder.reason.c_str());
    for (const std::unique_ptr<Rtl>& rtl : found)
      if (!rtl->queues_lack().empty())
        say("the runtime uses the synchronous functions of plugin %s, which lacks some of the asynchronous ones: %s",
            rtl->name().c_str(), rtl->queues_lack().c_str());
  }
  const std::lock_guard lock(mutex_);
  if (are_found_)
    return;
  rtls_ = std::move(found);
  are_found_.store(true, std::memory_order_release);
}

std::span<const std::unique_ptr<Rtl>> DeviceNumbers::rtls() const {
  if (!are_found_.load(std::memory_order_acquire))
    return {};
  return rtls_;
}

std::string DeviceNumbers::failed_plugin() const {
  for (const std::unique_ptr<Rtl>& rtl : rtls())
    if (rtl->has_failed())
      return "plugin " + rtl->name() + " was refused: " + rtl->refusal();
  return {};
}

void DeviceNumbers::number(Rtl& rtl) {
  const std::lock_guard lock(mutex_);
  if (!numbered_.insert(&rtl).second)
    return;
  const int known = count_;
  const int added = std::min(rtl.device_count(), static_cast<int>(kMostDevices) - known);
  for (int i = 0; i < added; ++i)
    devices_[static_cast<std::size_t>(known + i)].store(new Device(known + i, rtl, i), std::memory_order_release);
  count_.store(known + added, std::memory_order_release);
  observe::host_number = known + added;
}

} // namespace omptool
