// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.liboffload.so: the target RTL interface (omptarget_rtl.h) over LLVM's liboffload, for AMD's GPUs.
//
//   OMPTOOL_LIBOFFLOAD=LIST        back ends: amd, level_zero, cuda, all (settings.h)
//   OMPTOOL_LIBOFFLOAD_PATH=FILE   the library
#include "plugin.h"

#include "device.h"
#include "discovery.h"
#include "image_kind.h"
#include "settings.h"

namespace omptool::liboffload {

// Finds the devices. The library loads all of LLVM, so a process on a machine without such a GPU skips it, unless the
// environment names the library's file.
void Plugin::find() {
  if (library_path().empty() && wanted_backends() == std::vector<std::uint32_t>{OL_BACKEND_AMDGPU})
    reason = fault_of_node(kNode);
  if (reason.empty()) {
    reason = library.open();
    has_failed = !reason.empty() && !library_path().empty();
  }
  if (!reason.empty())
    return;
  Everything all = find_devices(library, reason);
  for (Found& found : all.devices)
    devices.push_back(std::make_unique<Device>(library, all.host, std::move(found), queue));
}

std::vector<std::string> Plugin::architectures() const {
  std::vector<std::string> all;
  for (const std::unique_ptr<plugin::Device>& device : devices)
    if (const Found& found = static_cast<const Device&>(*device).found(); found.backend == OL_BACKEND_AMDGPU)
      all.push_back(found.architecture);
  return all;
}

void Plugin::await(const plugin::EventPtr& event, plugin::Events::Lock& lock) {
  queue.await(std::static_pointer_cast<Operation>(event), lock);
}

void Plugin::look_at(const plugin::EventPtr& event, plugin::Events::Lock& lock) {
  queue.look_at(std::static_pointer_cast<Operation>(event), lock);
}

bool Plugin::can_order(const plugin::Device& from, const plugin::Device& to) const {
  return static_cast<const Device&>(from).found().platform == static_cast<const Device&>(to).found().platform;
}

} // namespace omptool::liboffload

namespace omptool::plugin {

std::unique_ptr<Plugin> make_plugin(bool is_child) {
  auto made = std::make_unique<liboffload::Plugin>();
  if (is_child)
    made->reason = kIsChild;
  else
    made->find();
  return made;
}

// Checks the image, and reads the devices if they have been found. Without devices the plugin still accepts the image,
// and then reports why there are none.
std::string fault_of_image(Bytes image) {
  std::string fault = liboffload::fault_of_bytes(image);
  const auto* const known = static_cast<const liboffload::Plugin*>(known_plugin());
  if (fault.empty() && known && !known->devices.empty())
    fault = liboffload::fault_of(image, known->architectures());
  return fault;
}

} // namespace omptool::plugin

using omptool::plugin::on_device;

namespace {

omptool::liboffload::Device& own(omptool::plugin::Device& device) {
  return static_cast<omptool::liboffload::Device&>(device);
}

} // namespace

OMPTOOL_RTL_EXPORT void* __tgt_rtl_host_lock(int32_t device_id, void* host_ptr, int64_t size) {
  return on_device(device_id, static_cast<void*>(nullptr),
                   [&](omptool::plugin::Device& device) { return own(device).lock(host_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_host_unlock(int32_t device_id, void* host_ptr) {
  return on_device(device_id, 1, [&](omptool::plugin::Device& device) { return own(device).unlock(host_ptr); });
}
