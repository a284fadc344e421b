// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process has one Plugin, by which the exported functions get at its devices and events.
#pragma once

#include "bytes.h"
#include "calls.h"
#include "device.h"
#include "events.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace omptool::plugin {

// Plugin of this process. Never destroyed, because threads may still run kernels while the process exits. A child of
// fork() gets a new one, because no thread of its parent exists there.
class Plugin {
public:
  Plugin() = default;
  virtual ~Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // The device, or null, with last_error set.
  Device* device(std::int32_t number) const {
    if (number >= 0 && static_cast<std::size_t>(number) < devices.size())
      return devices[static_cast<std::size_t>(number)].get();
    fail_for_device(number);
    return nullptr;
  }

  // Requires the lock of the events, which it may release and acquire again. Waits until the event is done, then
  // advances its operation as far as possible without waiting.
  virtual void await(const EventPtr& event, Events::Lock& lock) = 0;
  virtual void look_at(const EventPtr&, Events::Lock&) {}
  // Implements __tgt_rtl_process_dep: advances operations, and returns whether some are pending.
  virtual bool process() { return false; }
  // Tells whether operations of `to` can wait for events of `from`.
  virtual bool can_order(const Device&, const Device&) const { return true; }

  Plugin* parents = nullptr; // of the process that forked this one; never looked into
  std::vector<std::unique_ptr<Device>> devices;
  std::string reason;      // why there are no devices, or some are not used
  bool has_failed = false; // the user asked for devices, and for that reason there are none
  Events events;

private:
  [[gnu::noinline, gnu::cold]] void fail_for_device(std::int32_t number) const;
};

// Makes the plugin and opens its drivers; each plugin defines this function. `is_child`: the parent process has used
// the drivers, and none works in this one.
std::unique_ptr<Plugin> make_plugin(bool is_child);
constexpr char kIsChild[] = "the process has forked since it has used the driver"; // Plugin::reason for that
// Returns why the bytes are no image for the plugin, or "". Opens no driver, because that would slow registration down.
std::string fault_of_image(Bytes image);

extern std::atomic<Plugin*> the_plugin;
Plugin& make_the_plugin();

// Returns the plugin, or null before the first call that needs devices.
inline Plugin* known_plugin() {
  return the_plugin.load(std::memory_order_acquire);
}
inline Plugin& of_process() {
  Plugin* const known = known_plugin();
  return known ? *known : make_the_plugin();
}

// Runs `body(device)`, of a device that may not have started; an exception is a failure with a reason, and so is a
// device that does not exist.
template <typename Body, typename Result>
Result of_device(std::int32_t number, Result failed, const Body& body) noexcept {
  return safely(failed, [&]() -> Result {
    Device* const device = of_process().device(number);
    return device ? body(*device) : failed;
  });
}

// Calls `body` with a device that has started.
template <typename Body, typename Result>
Result on_device(std::int32_t number, Result failed, const Body& body) noexcept {
  return of_device(number, failed, [&](Device& device) -> Result {
    return device.has_started() || device.start() == 0 ? body(device) : failed;
  });
}

} // namespace omptool::plugin
