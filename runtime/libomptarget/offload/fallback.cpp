// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/fallback.h"

#include "counted.h"
#include "observe/events/sink.h"
#include "process/libomp.h"
#include "process/message.h"
#include "process/unregistered.h"
#include "region_name.h"

#include <cstdio>
#include <vector>

namespace omptool {
void insist_on_data(const std::string& reason) {
  if (mandatory())
    die("the data of a construct cannot be mapped, and OMP_TARGET_OFFLOAD is MANDATORY: %s", reason.c_str());
}

Selected select(std::int64_t device_id) {
  Registry* registry = Registry::current();
  if (!registry)
    return {nullptr, Registry::lost() ? "the process has forked since it registered its images"
                                      : "no library has registered images"};
  const int count = registry->device_count();
  const std::int64_t number = device_number(device_id);
  if (count == 0)
    return {nullptr, registry->reason_for_none()};
  if (number == count)
    return {};
  if (number < 0 || number > count)
    return {nullptr, "device number " + std::to_string(number) + " is out of range: " + there_are(count, "device")};
  Device& device = *registry->device(static_cast<int>(number));
  if (!registry->prepare(device))
    return {nullptr, registry->reason_of(device)};
  return {&device, {}};
}

std::shared_ptr<Kernel> kernel_of(const void* host_address) {
  Registry* const registry = Registry::current();
  return registry ? registry->find_kernel(host_address) : nullptr;
}

std::string name_of(const void* host_address, const Kernel* kernel) {
  if (kernel)
    return kernel->name;
  // In a child of fork() the dynamic linker may be locked for good, by a thread that the child lacks.
  if (!Registry::lost())
    if (const std::string name = unregistered_region(host_address).kernel; !name.empty())
      return name;
  char text[32];
  std::snprintf(text, sizeof text, "at %p", host_address);
  return text;
}

std::string title_of(const void* host_address, const Kernel* kernel) {
  return region_name(name_of(host_address, kernel));
}

void report_on_host(const void* host_address, const Kernel* kernel, const std::string& reason) {
  if (observe::heard()) [[unlikely]]
    observe::report(observe::FellBack{observe::Within::current(), host_address, name_of(host_address, kernel), reason});
}

std::int32_t stay_on_host(const void* host_address, const char* reason) {
  report_on_host(host_address, observe::heard() ? kernel_of(host_address).get() : nullptr, reason);
  return kOnHost;
}

namespace {

// Returns whether a library that the address is part of has registered, whatever became of its images. A child of
// fork() cannot tell: a thread that it lacks may hold the registry's lock.
bool is_of_registered(const void* host_address) {
  Registry* const registry = Registry::current();
  return registry ? registry->has_known(host_address) : Registry::lost() != nullptr;
}

// A region in a message, and why it is not on a device.
struct Outcome {
  std::string region, reason;
};
Outcome outcome_of(const void* host_address, const Kernel* kernel, const std::string& reason) {
  const UnregisteredRegion found =
      kernel || is_of_registered(host_address) ? UnregisteredRegion{} : unregistered_region(host_address);
  if (found.kernel.empty())
    return {title_of(host_address, kernel), reason};
  return {region_name(found.kernel) + " of " + found.object,
          found.object + " was linked without -fopenmp-targets: put `omptool link --` before its link command"};
}

} // namespace

std::int32_t fall_back(const void* host_address, const Kernel* kernel, const std::string& why) {
  const auto [region, reason] = outcome_of(host_address, kernel, why);
  // Tasks that nobody waited for run when libomp ends, after the exit handler that unregisters. There
  // is no device left to insist on.
  report_on_host(host_address, kernel, reason);
  Registry* const registry = Registry::current();
  if (mandatory() && !(registry && registry->is_over()))
    die("region %s cannot run on a device, and OMP_TARGET_OFFLOAD is MANDATORY: %s", region.c_str(), reason.c_str());
  say("region %s runs on the host: %s", region.c_str(), reason.c_str());
  return kOnHost;
}

// Not silenced: where the doubt is right, the host version ends the program without a word.
void copy_to_host(Device& device, const void* host_address, const Kernel* kernel, Rows rows) {
  const std::string title = title_of(host_address, kernel);
  const std::vector<HostRange> globals = kernel ? kernel->globals() : std::vector<HostRange>{};
  const std::string doubts = device.data.fallback.to_host(rows, globals, title);
  if (!doubts.empty())
    warn("region %s: %s", title.c_str(), doubts.c_str());
}

std::int32_t fall_back_from(Device& device, const void* host_address, const Kernel* kernel, Rows rows,
                            const std::string& reason) {
  copy_to_host(device, host_address, kernel, rows);
  return fall_back(host_address, kernel, reason);
}

} // namespace omptool
