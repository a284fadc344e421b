// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/library.h"

#include "bytes_before.h"
#include "counted.h"
#include "launch_words.h"
#include "observe/events/sink.h"
#include "process/message.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace omptool {
namespace {

using Records = std::span<const __tgt_offload_entry>;

bool has_name(const __tgt_offload_entry& record) {
  return record.name && *record.name;
}

// Returns whether entries pair by name. An entry that the image lacks needs no name.
bool pairs_by_name(Records there, Records host) {
  return std::all_of(host.begin(), host.end(), has_name) &&
         std::all_of(there.begin(), there.end(), [](const auto& record) { return !record.addr || has_name(record); });
}

// A name that the host lists more than once, as of a region in a header, is still one thing in the image.
std::string pair_by_name(Records there, Records host, std::vector<void*>& addresses) {
  std::unordered_map<std::string_view, const __tgt_offload_entry*> by_name(there.size());
  std::unordered_set<std::string_view> doubled;
  for (const __tgt_offload_entry& record : there)
    if (record.addr && by_name.try_emplace(record.name, &record).first->second->addr != record.addr)
      doubled.insert(record.name);
  for (const __tgt_offload_entry& wanted : host) {
    const auto at = by_name.find(wanted.name);
    addresses.push_back(at == by_name.end() ? nullptr : at->second->addr);
    if (at == by_name.end())
      continue;
    if (doubled.contains(wanted.name))
      return " (its entry table lists " + std::string(wanted.name) + " twice)";
    if (at->second->size != wanted.size)
      return " (" + std::string(wanted.name) + " has " + std::to_string(wanted.size) + " bytes on the host and " +
             std::to_string(at->second->size) + " in its entry table)";
  }
  return {};
}

} // namespace

LoadedImage::LoadedImage(Device& its_device, std::shared_ptr<const Library> its_library,
                         const RegisteredImage& its_image)
    : device(its_device), library(std::move(its_library)), image(library->raw(its_image)),
      passings(passings_of(its_image.origin.form, its_image.origin.is_old, !device.memory.takes_shapes(),
                           device.memory.is_separate())),
      names_dimensions(its_image.origin.is_since_20 && tells_launches()), compiler(its_image.origin.compiler) {}

bool Library::copy_if_unloadable(__tgt_device_image& its_image, std::vector<char>& bytes, std::mutex& reading) const {
  if (home.permanent)
    return true;
  const std::lock_guard lock(reading);
  if (removed)
    return false;
  // Bytes in front of the image: the container's header, which plugins read. The image keeps the alignment of heap
  // memory.
  const std::vector<std::byte> before = bytes_before(its_image.ImageStart);
  const std::size_t header = before.size() - before.size() % alignof(std::max_align_t);
  const auto* const first = reinterpret_cast<const char*>(before.data() + before.size() - header);
  bytes.assign(first, first + header);
  bytes.insert(bytes.end(), static_cast<const char*>(its_image.ImageStart),
               static_cast<const char*>(its_image.ImageEnd));
  its_image.ImageStart = bytes.data() + header;
  its_image.ImageEnd = bytes.data() + bytes.size();
  return true;
}

bool LoadedImage::load(std::mutex& reading) {
  std::vector<char> bytes;
  if (!library->copy_if_unloadable(image, bytes, reading))
    return false;
  std::vector<std::int64_t> extents;
  for (const HostEntry& entry : entries())
    extents.push_back(entry.kind == EntryKind::kIndirect && is_variable(entry) ? entry.extent : 0);
  const bool has_indirect = std::any_of(extents.begin(), extents.end(), [](std::int64_t extent) { return extent; });
  const RtlFunctions& call = device.rtl.call();
  if (!device.memory.is_lost())
    table = has_indirect && call.load_indirect ? call.load_indirect(device.rtl_id, &image, extents.data())
                                               : call.load_binary(device.rtl_id, &image);
  return true;
}

LoadedImage::~LoadedImage() {
  if (constructed)
    if (const std::string failed = run_all(EntryKind::kDestructor); !failed.empty())
      say("the destructor %s could not run on %s%s", failed.c_str(), device.describe().c_str(),
          device.rtl.last_error().c_str());
  if (table && device.rtl.call().unload_binary && !device.memory.is_lost())
    device.rtl.call().unload_binary(device.rtl_id, &image);
  if (table)
    observe::report(observe::ImageUnloaded{device.number, module});
}

std::string LoadedImage::pair_entries() {
  if (!is_range(table->EntriesBegin, table->EntriesEnd))
    return " (its entry table does not end where an entry ends)";
  const Records there(table->EntriesBegin, table->EntriesEnd), host(library->table.records);
  addresses.reserve(host.size());
  if (pairs_by_name(there, host))
    return pair_by_name(there, host, addresses);
  if (there.size() != host.size())
    return " (its entry table has " + counted(there.size(), "entry") + ", the host's has " +
           std::to_string(host.size()) + ")";
  for (const __tgt_offload_entry& record : there)
    addresses.push_back(record.addr);
  return {};
}

std::string LoadedImage::run_all(EntryKind kind) const {
  const std::size_t count = entries().size();
  for (std::size_t done = 0; done < count; ++done) {
    const std::size_t i = kind == EntryKind::kDestructor ? count - 1 - done : done; // as C++ destroys
    if (entries()[i].kind != kind)
      continue;
    void* const function = addresses[i];
    device.data.activity.note();
    const std::int32_t result =
        function ? device.rtl.call().run_target_team_region(device.rtl_id, function, nullptr, 0, 1, 1) : -1;
    observe::report(observe::ImageFunctionRan{device.number, name_of(entries()[i]), result != 0});
    // Destructors may fail here: NVIDIA's driver ends before the program's last functions run, and frees the variables.
    if (result == OMPTARGET_RTL_NOT_STARTED && kind == EntryKind::kDestructor && library->home.permanent)
      return {};
    if (result != 0)
      return name_of(entries()[i]);
  }
  return {};
}

std::string LoadedImage::disagreement(EnvironmentPlace environment) const {
  constexpr const char* kCalls[] = {"without a launch environment", "with a launch environment first",
                                    "with a launch environment first", "with a launch environment last"};
  return std::string("the program calls it ") + kCalls[static_cast<std::size_t>(environment)] +
         ", which the image for " + device.describe() + (compiler.empty() ? "" : ", compiled by ") + compiler +
         ", does not expect; compile both with one compiler";
}

} // namespace omptool
