// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/launch.h"

#include "data/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"
#include "process/per_row.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace omptool {
namespace {

// Device memory of kPrivate rows, for the length of one launch.
class PrivateCopies {
public:
  PrivateCopies(Device& device, const std::string& region, std::size_t rows)
      : device_(device), region_(region), copies_(rows) {}
  ~PrivateCopies() {
    for (const Copy& copy : copies_)
      if (copy.device && !copy.on_host)
        device_.memory.release(copy.device, copy.host, copy.size, region_);
      else if (copy.device)
        ::operator delete(copy.device, std::align_val_t{kAlignment});
  }
  PrivateCopies(const PrivateCopies&) = delete;
  PrivateCopies& operator=(const PrivateCopies&) = delete;

  // Writes a pointer into the copies that hold the one at `cell`. False: a device did not take it.
  bool attach(const void* cell, void* value) {
    for (const Copy& copy : copies_) {
      const std::uintptr_t offset =
          reinterpret_cast<std::uintptr_t>(cell) - reinterpret_cast<std::uintptr_t>(copy.host);
      if (!copy.device || offset > static_cast<std::uintptr_t>(copy.size) ||
          static_cast<std::uintptr_t>(copy.size) - offset < sizeof value)
        continue;
      if (copy.on_host)
        std::memcpy(copy.device + offset, &value, sizeof value);
      else if (!device_.memory.submit(copy.device + offset, &value, sizeof value))
        return false;
    }
    return true;
  }

  // The argument for the row: the device address of its base. False: the device could not provide it.
  bool make(std::size_t index, const Row& row, void*& argument) {
    Copy& copy = copies_[index];
    // A row of no bytes says nothing in `begin`.
    const void* const begin = row.size == 0 && !row.has(kSection) ? row.base : row.begin;
    copy = {nullptr, begin, std::max<std::int64_t>(row.size, 1), device_.data.shares_host_memory()};
    // Where host memory is device memory nothing is allocated, but a private copy is still a copy.
    copy.device = copy.on_host ? static_cast<std::byte*>(::operator new(static_cast<std::size_t>(copy.size),
                                                                        std::align_val_t{kAlignment}, std::nothrow))
                               : device_.memory.allocate(copy.size);
    if (!copy.device)
      return false;
    argument =
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(copy.device) -
                                (reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(row.base)));
    if (!row.has(kTo) || row.size == 0)
      return true;
    if (!copy.on_host)
      return device_.memory.submit(copy.device, row.begin, row.size);
    std::copy_n(static_cast<const std::byte*>(row.begin), row.size, copy.device);
    return true;
  }

private:
  static constexpr std::size_t kAlignment = 64;
  struct Copy {
    std::byte* device;
    const void* host;
    std::int64_t size;
    bool on_host;
  };
  Device& device_;
  const std::string& region_;
  PerRow<Copy> copies_;
};

// Fills `arguments` with one value per kArgument row, in row order. Returns what failed, or "".
std::string collect(Device& device, const LoadedImage& image, Rows rows, Bindings& bound, PrivateCopies& copies,
                    PerRow<void*>& arguments, std::int32_t& count) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (!row.has(kArgument) || (row.has(kIfEnvironment) && image.without_environment))
      continue;
    void*& argument = arguments[static_cast<std::size_t>(count++)];
    if (!row.has(kPrivate) || row.has(kValue))
      argument = device.data.argument(row, bound[i]);
    else if (!copies.make(i, row, argument))
      return "the device has no private copy of the object at " + describe(range_of(row)) + device.memory.last_error();
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].has(kAttach))
      if (void* value = device.data.pointee(rows[i], bound[i]); value && !copies.attach(rows[i].base, value))
        return "the device did not take a pointer to the object at " + describe(range_of(rows[i])) +
               device.memory.last_error();
  return {};
}

// The clauses' values are positive; 0 is the device's choice, and so is what no clause can say.
std::int32_t run(Device& device, void* function, void** arguments, std::int32_t count, const LaunchShape& shape) {
  const PluginFunctions& plugin = device.plugin.call();
  return shape.teams ? plugin.run_target_team_region(device.rtl_id, function, arguments, count,
                                                     std::max(shape.num_teams, 0), std::max(shape.thread_limit, 0))
                     : plugin.run_target_region(device.rtl_id, function, arguments, count);
}

// A kernel that has not begun is the host's turn; one that may have begun must not run again on the host.
[[gnu::cold]] void take_back(Device& device, const std::string& region, std::int32_t result, std::uint64_t noted) {
  if (result != OMPTARGET_RTL_NOT_STARTED)
    die("region %s failed on %s with error %d%s", region.c_str(), device.describe().c_str(), result,
        device.plugin.last_error().c_str());
  device.data.take_back_activity(noted);
}

// False: the plugin has not started it, and not_started() says why.
[[nodiscard]] inline bool run_kernel(Device& device, const std::string& region, void* function, void** arguments,
                                     std::int32_t count, const LaunchShape& shape) {
  const std::uint64_t noted = device.data.note_activity();
  const std::int32_t result = run(device, function, arguments, count, shape);
  if (result != 0) [[unlikely]]
    take_back(device, region, result, noted);
  return result == 0;
}

// Told to those who listen.
[[gnu::cold]] bool run_heard(Device& device, const std::string& region, void* function, void** arguments,
                             std::int32_t count, const LaunchShape& shape) {
  observe::Operation told =
      observe::begin({observe::Operation::Kind::kLaunch, device.number, nullptr, function, 0, region});
  const bool ran = run_kernel(device, region, function, arguments, count, shape);
  observe::end(told, ran);
  return ran;
}

// To be asked before the plugin is called again.
[[gnu::cold]] std::string not_started(const Device& device) {
  return device.describe() + " did not start it" + device.plugin.last_error();
}

// The process has forked since the region began: in the kernel, and this is the child.
bool is_child() {
  return !Registry::current();
}

template <typename Bound, typename Object>
[[gnu::cold]] void end_in_child(Device& device, Rows rows, Bound& bound, const std::string& region, Object object) {
  PerRow<Mapping*> objects(rows.size());
  std::transform(bound.begin(), bound.end(), objects.begin(), object);
  device.data.end_in_child(rows, {objects.data(), objects.size()}, region);
}

// Rows of every kind. What the short way has taken hold of is kept until it is bound here.
std::string launch_any(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const LaunchShape& shape,
                       KnownObjects& known) {
  Bindings bound(rows.size());
  PerRow<void*> arguments(rows.size());
  const std::string& region = kernel.name;
  PrivateCopies copies(device, region, rows.size());
  std::int32_t count = 0;

  std::string failure = device.data.begin(rows, bound, Purpose::kRegion);
  device.data.end_known(rows, known, Release::kNormal, region);
  if (failure.empty())
    failure = collect(device, *there.image, rows, bound, copies, arguments, count);
  if (failure.empty() && device.data.any_host_current())
    failure = device.data.make_device_current(rows, kernel.globals());
  if (failure.empty()) {
    const auto run_it = observe::heard() ? run_heard : run_kernel;
    if (!run_it(device, region, there.function, arguments.data(), count, shape))
      failure = not_started(device);
  }
  if (!failure.empty()) {
    device.data.end(rows, bound, Release::kAbandoned, region.c_str());
    return failure;
  }
  if (is_child()) [[unlikely]]
    end_in_child(device, rows, bound, region, [](const Binding& binding) { return binding.object.get(); });
  else
    device.data.end(rows, bound, Release::kNormal, region.c_str());
  return {};
}

bool needs_data(const Row& row) {
  return !row.has(kValue | kArgument);
}

// Nothing but values: there is nothing to map.
std::string launch_values(Device& device, const Kernel& kernel, const Resolved& there, Rows rows,
                          const LaunchShape& shape) {
  PerRow<void*> arguments(rows.size());
  std::int32_t count = 0;
  for (const Row& row : rows)
    if (!(row.has(kIfEnvironment) && there.image->without_environment))
      arguments[static_cast<std::size_t>(count++)] = row.base;
  return run_kernel(device, kernel.name, there.function, arguments.data(), count, shape) ? std::string()
                                                                                         : not_started(device);
}

} // namespace

std::string launch(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const LaunchShape& shape) {
  const bool told = observe::heard(); // which the long way does
  if (!told && !device.data.any_host_current() && std::none_of(rows.begin(), rows.end(), needs_data))
    return launch_values(device, kernel, there, rows, shape);
  KnownObjects known(rows.size());
  if (told || !device.data.begin_known(rows, known))
    return launch_any(device, kernel, there, rows, shape, known);
  PerRow<void*> arguments(rows.size());
  std::int32_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].has(kArgument) && !(rows[i].has(kIfEnvironment) && there.image->without_environment))
      arguments[static_cast<std::size_t>(count++)] = device.data.known_argument(rows[i], known[i]);
  if (!run_kernel(device, kernel.name, there.function, arguments.data(), count, shape)) [[unlikely]] {
    std::string failure = not_started(device);
    device.data.end_known(rows, known, Release::kAbandoned, kernel.name);
    return failure;
  }
  if (is_child()) [[unlikely]]
    end_in_child(device, rows, known, kernel.name, [](const KnownObject& one) { return one.object; });
  else
    device.data.end_known(rows, known, Release::kNormal, kernel.name);
  return {};
}

} // namespace omptool
