// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.opencl.so: the target RTL interface (omptarget_rtl.h) over any device of OpenCL that takes SPIR-V.
//
//   OMPTOOL_OPENCL_MEMORY=KIND   where data lies: usm, device, svm or shared (settings.h)
//   OCL_ICD_VENDORS=DIR          the loader's own: the folder, or the file, that names the drivers
#include "plugin.h"

#include "device.h"
#include "image.h"
#include "loader.h"

namespace omptool::opencl {

void Plugin::find() {
  if (!open_loader(cl, reason))
    return;
  for (Found& found : find_devices(cl, reason)) {
    found.number = static_cast<std::int32_t>(devices.size());
    devices.push_back(std::make_unique<Device>(cl, std::move(found), queue));
  }
}

} // namespace omptool::opencl

namespace omptool::plugin {

std::unique_ptr<Plugin> make_plugin(bool is_child) {
  auto made = std::make_unique<opencl::Plugin>();
  if (is_child)
    made->reason = kIsChild;
  else
    made->find();
  return made;
}

std::string fault_of_image(Bytes image) {
  return opencl::fault_of_image(image);
}

} // namespace omptool::plugin
