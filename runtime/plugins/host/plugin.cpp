// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.host.so: the target RTL interface (omptarget_rtl.h) over the CPU.
//
//   OMPTOOL_HOST_DEVICES=N       N devices instead of one
//   OMPTOOL_HOST_MEMORY=shared   host memory is device memory: nothing is copied
//   OMPTOOL_HOST_QUEUES=1        programs go through the asynchronous functions, and every copy through the plugin
//   OMPTOOL_HOST_IN_FLIGHT=N     as many operations of those run at once, not 64
//   OMPTOOL_KEEP_IMAGES=DIR      a copy of each loaded image is left in DIR
//   OMPTOOL_CACHE_DIR=DIR        what is compiled of bitcode is kept in DIR
#include "plugin.h"

#include "compile/compiled.h"
#include "device.h"
#include "elf_image.h"
#include "kernels/current_state.h"
#include "kernels/runtime_kernel.h"
#include "machine.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace omptool::host {
namespace {

void end_queue() {
  if (plugin::Plugin* const known = plugin::known_plugin())
    static_cast<Plugin*>(known)->queue.end();
}

// Asks two devices, of which one may be the host.
template <typename Body> std::int32_t on_both(std::int32_t first, std::int32_t second, const Body& body) noexcept {
  if (first == OMPTARGET_RTL_HOST)
    std::swap(first, second);
  return plugin::on_device(first, 1, [&](plugin::Device& device) {
    return second == OMPTARGET_RTL_HOST ? body(device) : plugin::on_device(second, 1, body);
  });
}

void copy_rectangle(std::byte* target, const std::byte* source, const tgt_rectangle& all) {
  for (std::uint64_t plane = 0; plane < all.planes; ++plane)
    for (std::uint64_t row = 0; row < all.rows; ++row)
      std::memcpy(target + plane * all.target_plane + row * all.target_row,
                  source + plane * all.source_plane + row * all.source_row, all.width);
}

} // namespace

Plugin::Plugin() {
  for (std::int32_t i = 0; i < device_count(); ++i)
    devices.push_back(std::make_unique<Device>(i, *this));
}

void Plugin::await(const plugin::EventPtr& event, plugin::Events::Lock& lock) {
  queue.await(static_cast<Operation&>(*event), lock);
}

} // namespace omptool::host

namespace omptool::plugin {

// Makes the plugin. It has no driver, so a child of fork() works as its parent does.
std::unique_ptr<Plugin> make_plugin(bool) {
  static std::once_flag ending;
  std::call_once(ending, [] { std::atexit(host::end_queue); });
  return std::make_unique<host::Plugin>();
}

std::string fault_of_image(Bytes image) {
  const char* const fault = host::fault_of(image);
  return compile::fault_of(image, machine::kName, fault ? fault : "");
}

} // namespace omptool::plugin

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_copy_rectangle(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                         void* target_ptr, const tgt_rectangle* rectangle) {
  return omptool::host::on_both(from_device_id, to_device_id, [&](omptool::plugin::Device&) -> int32_t {
    if (rectangle->size < sizeof *rectangle) {
      omptool::fail("the rectangle's record has " + std::to_string(rectangle->size) + " bytes; this plugin reads " +
                    std::to_string(sizeof *rectangle));
      return OMPTARGET_RTL_NOT_STARTED;
    }
    omptool::host::copy_rectangle(static_cast<std::byte*>(target_ptr), static_cast<const std::byte*>(source_ptr),
                                  *rectangle);
    return 0;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_kernels_make_teams(int32_t) {
  return 1;
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_takes_shape(int32_t, void* target_entry_ptr) {
  return omptool::host::RuntimeKernel::of(target_entry_ptr) != nullptr;
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_opens_parallel(int32_t device_id, void* target_entry_ptr) {
  return omptool::plugin::of_device(device_id, 0, [&](omptool::plugin::Device& device) {
    return static_cast<omptool::host::Device&>(device).opens_parallel(target_entry_ptr) ? 1 : 0;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_in_kernel(void) {
  return omptool::host::current.kernel != nullptr;
}
