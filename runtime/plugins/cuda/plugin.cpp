// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.cuda.so: the target RTL interface (omptarget_rtl.h) over NVIDIA's driver.
#include "plugin.h"

#include "compile/compiled.h"
#include "device.h"
#include "image_kind.h"

namespace omptool::cuda {
namespace {

OperationPtr operation_of(const plugin::EventPtr& event) {
  return std::static_pointer_cast<Operation>(event);
}

} // namespace

Outcome Plugin::find_devices() {
  int count = 0;
  Outcome outcome = OMPTOOL_CUDA(driver, cuInit, 0);
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuDeviceGetCount, &count);
  for (int i = 0; outcome.ok() && i < count; ++i) {
    CUdevice device = 0;
    int major = 0, minor = 0;
    outcome = OMPTOOL_CUDA(driver, cuDeviceGet, &device, i);
    if (outcome.ok())
      outcome =
          OMPTOOL_CUDA(driver, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (outcome.ok())
      outcome =
          OMPTOOL_CUDA(driver, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (outcome.ok())
      devices.push_back(std::make_unique<Device>(driver, DeviceId{i, count, device, 10 * major + minor}, queue));
  }
  return outcome;
}

void Plugin::find() {
  reason = open_driver(driver);
  if (!reason.empty())
    return;
  if (const Outcome outcome = find_devices(); !outcome.ok()) {
    devices.clear();
    reason = text_of(driver, outcome);
  } else if (devices.empty()) {
    reason = "the NVIDIA driver has no device";
  }
}

std::vector<int> Plugin::capabilities() const {
  std::vector<int> all;
  for (const std::unique_ptr<plugin::Device>& device : devices)
    all.push_back(static_cast<const Device&>(*device).capability());
  return all;
}

void Plugin::await(const plugin::EventPtr& event, plugin::Events::Lock& lock) {
  queue.await(operation_of(event), lock);
}

void Plugin::look_at(const plugin::EventPtr& event, plugin::Events::Lock& lock) {
  queue.look_at(operation_of(event), lock);
}

bool Plugin::process() {
  return queue.process();
}

} // namespace omptool::cuda

namespace omptool::plugin {

std::unique_ptr<Plugin> make_plugin(bool is_child) {
  auto made = std::make_unique<cuda::Plugin>();
  if (is_child)
    made->reason = kIsChild;
  else
    made->find();
  return made;
}

// Checks the image, and reads the devices if they have been found. Without devices the plugin still accepts the image,
// and then reports why there are none.
std::string fault_of_image(Bytes image) {
  std::string fault = compile::fault_of(image, "nvptx64", cuda::fault_of_bytes(image));
  const auto* const known = static_cast<const cuda::Plugin*>(known_plugin());
  if (fault.empty() && known && !known->devices.empty())
    fault = cuda::fault_of(image, known->capabilities(), known->driver.version);
  return fault;
}

} // namespace omptool::plugin

using omptool::plugin::on_device;

namespace {

omptool::cuda::Device& own(omptool::plugin::Device& device) {
  return static_cast<omptool::cuda::Device&>(device);
}

} // namespace

OMPTOOL_RTL_EXPORT tgt_target_table* __tgt_rtl_load_indirect(int32_t device_id, __tgt_device_image* image,
                                                             const int64_t* extents) {
  return on_device(device_id, static_cast<tgt_target_table*>(nullptr), [&](omptool::plugin::Device& device) {
    return own(device).load(*image, {extents, static_cast<std::size_t>(image->EntriesEnd - image->EntriesBegin)});
  });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_host_lock(int32_t device_id, void* host_ptr, int64_t size) {
  return on_device(device_id, static_cast<void*>(nullptr),
                   [&](omptool::plugin::Device& device) { return own(device).host_memory().lock(host_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_host_unlock(int32_t device_id, void* host_ptr) {
  return on_device(device_id, 1,
                   [&](omptool::plugin::Device& device) { return own(device).host_memory().unlock(host_ptr); });
}
