// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backend.h"

#include "arguments.h"
#include "common/description.h"
#include "host_tables.h"
#include "rtl/launch_shape.h"

#include <cstring>
#include <string_view>
#include <unordered_map>

namespace omptool::worker {
namespace {

// The extents of a library's entries, where it has any.
std::vector<std::int64_t> extents_of(const std::vector<mpi::Entry>& entries) {
  std::vector<std::int64_t> extents;
  bool any = false;
  for (const mpi::Entry& entry : entries) {
    extents.push_back(entry.extent);
    any = any || entry.extent != 0;
  }
  return any ? extents : std::vector<std::int64_t>();
}

// The entries of an image go by their names.
using Own = std::unordered_map<std::string_view, const __tgt_offload_entry*>;

Own own_of(const tgt_target_table& table) {
  Own own;
  for (const __tgt_offload_entry* entry = table.EntriesBegin; entry != table.EntriesEnd; ++entry)
    if (entry->addr && entry->name)
      own.try_emplace(entry->name, entry);
  return own;
}

// In the order of the entries.
Buffer table_of(const Own& own, const std::vector<mpi::Entry>& entries, const Rtl& rtl, std::int32_t number) {
  const auto takes_shape = rtl.call().takes_shape;
  std::vector<mpi::Loaded> found;
  for (const mpi::Entry& entry : entries) {
    const auto at = own.find(entry.name);
    if (at == own.end()) {
      found.push_back({0, entry.size, 0});
      continue;
    }
    void* const address = at->second->addr;
    const bool is_kernel = at->second->size == 0;
    found.push_back({reinterpret_cast<std::uint64_t>(address), at->second->size,
                     is_kernel && takes_shape && takes_shape(number, address) != 0});
  }
  return written(found);
}

// Registers the tables of an image in this process, at the addresses in its variables. Returns the address of one
// variable, or null.
const void* add_host_tables(const Own& own, const std::vector<mpi::Entry>& entries) {
  const void* variable = nullptr;
  std::vector<HostTable> tables;
  for (const mpi::Entry& entry : entries) {
    const auto at = own.find(entry.name);
    if (entry.extent == 0 || at == own.end() || at->second->size != sizeof(std::uintptr_t) ||
        !is_in_image(at->second->addr))
      continue;
    variable = at->second->addr;
    std::uintptr_t address = 0;
    std::memcpy(&address, variable, sizeof address);
    tables.push_back({entry.address, static_cast<std::uintptr_t>(entry.extent), address, entry.name});
  }
  if (variable)
    add_tables(variable, tables);
  return variable;
}

} // namespace

// Opens the worker's plugins. The plugin for workers is only for programs.
Backend::Backend() {
  for (std::unique_ptr<Rtl>& rtl : find_rtls()) {
    if (rtl->name() == "mpi" || !rtl->refusal().empty())
      continue;
    for (std::int32_t number = 0; number < rtl->device_count(); ++number)
      devices_.all.push_back({rtl.get(), number});
    rtls_.push_back(std::move(rtl));
  }
}

std::vector<mpi::DeviceOfWorker> Backend::describe(int rank, const std::string& node) const {
  std::vector<mpi::DeviceOfWorker> all;
  for (const Device& device : devices_.all) {
    tgt_device_description said = device.rtl->describe(device.number).value_or(tgt_device_description{});
    said.rank = rank;
    put(node, said.node);
    put("rank " + std::to_string(rank) + " on " + node + ", " + device.rtl->name() + " " +
            std::to_string(device.number) + (said.name[0] ? ": " : "") + said.name,
        said.title);
    all.push_back({device.rtl->name(), said, !takes_compilers_shapes(device.rtl->call(), device.number)});
  }
  return all;
}

Outcome Backend::perform(const Operation& operation) {
  using mpi::Kind;
  if (operation.kind == Kind::kJoin || operation.kind == Kind::kGoodbye)
    return {};
  const Device& device = devices_.of(operation);
  const RtlFunctions& call = device.rtl->call();
  switch (operation.kind) {
  case Kind::kSubmit:
    return submit(operation, operation.bytes);
  case Kind::kRetrieve:
    return retrieve(device, operation);
  case Kind::kFill:
    return fill(device, operation);
  case Kind::kCopy:
    return copy(device, operation);
  case Kind::kRun:
    return run(device, operation);
  case Kind::kStart:
    return Outcome::of(call.init_device(device.number), *device.rtl);
  case Kind::kAllocate:
    return allocate(device, operation);
  case Kind::kRelease:
    return Outcome::of(call.data_delete(device.number, pointer(operation.target)), *device.rtl);
  case Kind::kImage:
    add_image(operation.target, {operation.bytes.begin(), operation.bytes.end()});
    return {};
  case Kind::kLoad:
    return load(device, operation);
  case Kind::kUnload:
    return unload(device, operation);
  default:
    return {};
  }
}

// ---- memory ----

bool Backend::is_in_host_memory(const Operation& operation) const {
  const Device& device = devices_.of(operation);
  const RtlFunctions& call = device.rtl->call();
  return call.memory_is_addressable && call.memory_is_addressable(device.number) && call.moves_like_memmove &&
         call.moves_like_memmove(device.number);
}

Outcome Backend::submit(const Operation& operation, View bytes) {
  const Device& device = devices_.of(operation);
  return Outcome::of(device.rtl->call().data_submit(device.number, pointer(operation.target),
                                                    const_cast<std::byte*>(bytes.data()),
                                                    static_cast<std::int64_t>(bytes.size())),
                     *device.rtl);
}

Outcome Backend::retrieve(const Device& device, const Operation& operation) const {
  Buffer bytes(operation.tag == 0 ? size_with_answer(operation) : operation.size);
  Outcome outcome = Outcome::of(device.rtl->call().data_retrieve(device.number, bytes.data(), pointer(operation.source),
                                                                 static_cast<std::int64_t>(bytes.size())),
                                *device.rtl);
  if (outcome.result == 0)
    outcome.bytes = std::move(bytes);
  return outcome;
}

Outcome Backend::fill(const Device& device, const Operation& operation) const {
  const RtlFunctions& call = device.rtl->call();
  const auto size = static_cast<std::int64_t>(operation.size);
  std::int32_t result = OMPTARGET_RTL_NOT_STARTED;
  if (call.data_fill)
    result = call.data_fill(device.number, pointer(operation.target), operation.value, size);
  if (result == OMPTARGET_RTL_NOT_STARTED) {
    Buffer bytes(operation.size, static_cast<std::byte>(operation.value));
    result = call.data_submit(device.number, pointer(operation.target), bytes.data(), size);
  }
  return Outcome::of(result, *device.rtl);
}

// Copies between two plugins directly, or through this process if the plugin cannot.
Outcome Backend::copy(const Device& device, const Operation& operation) const {
  Operation reading = operation;
  reading.device = operation.value;
  reading.tag = 1; // of any size
  const Device& from = devices_.of(reading);
  const RtlFunctions& call = device.rtl->call();
  const auto size = static_cast<std::int64_t>(operation.size);
  std::int32_t result = OMPTARGET_RTL_NOT_STARTED;
  if (call.data_exchange && from.rtl == device.rtl)
    result = call.data_exchange(from.number, pointer(operation.source), device.number, pointer(operation.target), size);
  if (result != OMPTARGET_RTL_NOT_STARTED)
    return Outcome::of(result, *device.rtl);
  Outcome read = retrieve(from, reading);
  return read.result != 0
             ? read
             : Outcome::of(call.data_submit(device.number, pointer(operation.target), read.bytes.data(), size),
                           *device.rtl);
}

Outcome Backend::allocate(const Device& device, const Operation& operation) const {
  void* const memory = device.rtl->call().data_alloc(device.number, static_cast<std::int64_t>(operation.size));
  if (!memory)
    return Outcome::failed(1, "plugin " + device.rtl->name() + device.rtl->last_error());
  Outcome outcome;
  mpi::Writer(outcome.bytes).number(reinterpret_cast<std::uint64_t>(memory));
  return outcome;
}

// ---- kernels ----

Outcome Backend::run(const Device& device, const Operation& operation) const {
  KernelArguments arguments = arguments_of(operation);
  const RtlFunctions& call = device.rtl->call();
  void* const function = pointer(operation.target);
  return Outcome::of(arguments.has_shape
                         ? run_in_shape(call.run_shaped, call.run_target_team_region, device.number, function,
                                        arguments.first, arguments.count, operation.shape)
                         : call.run_target_region(device.number, function, arguments.first, arguments.count),
                     *device.rtl);
}

// ---- images ----

void Backend::add_image(std::uint64_t number, Buffer bytes) {
  const std::lock_guard lock(mutex_);
  images_[number] = std::make_shared<const Buffer>(std::move(bytes));
}

Outcome Backend::load(const Device& device, const Operation& operation) {
  auto loaded = std::make_unique<LoadedImage>();
  {
    const std::lock_guard lock(mutex_);
    const auto found = images_.find(operation.source);
    if (found == images_.end() || loaded_.contains(operation.target))
      throw mpi::Malformed("image " + std::to_string(operation.source) + " is to be loaded as " +
                           std::to_string(operation.target));
    loaded->bytes = found->second;
  }
  loaded->entries = mpi::read_entries(operation.bytes);
  for (mpi::Entry& entry : loaded->entries)
    loaded->records.push_back({pointer(entry.address), entry.name.data(), entry.size});
  auto* const first = const_cast<std::byte*>(loaded->bytes->data());
  loaded->image = {first, first + loaded->bytes->size(), loaded->records.data(),
                   loaded->records.data() + loaded->records.size()};
  const RtlFunctions& call = device.rtl->call();
  if (!call.is_valid_binary(&loaded->image))
    return Outcome::failed(1, "plugin " + device.rtl->name() + " does not accept it" + device.rtl->last_error());
  const std::vector<std::int64_t> extents = extents_of(loaded->entries);
  tgt_target_table* const table = !extents.empty() && call.load_indirect
                                      ? call.load_indirect(device.number, &loaded->image, extents.data())
                                      : call.load_binary(device.number, &loaded->image);
  if (!table)
    return Outcome::failed(1, "plugin " + device.rtl->name() + device.rtl->last_error());
  const Own own = own_of(*table);
  if (!call.load_indirect)
    loaded->has_tables = add_host_tables(own, loaded->entries);
  Outcome outcome{0, table_of(own, loaded->entries, *device.rtl, device.number)};
  const std::lock_guard lock(mutex_);
  loaded_.emplace(operation.target, std::move(loaded));
  return outcome;
}

Outcome Backend::unload(const Device& device, const Operation& operation) {
  std::unique_ptr<LoadedImage> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = loaded_.find(operation.target);
    if (found == loaded_.end())
      throw mpi::Malformed("image " + std::to_string(operation.target) + " is to be unloaded, and is not loaded");
    gone = std::move(found->second);
    loaded_.erase(found);
  }
  if (gone->has_tables)
    remove_tables(gone->has_tables);
  const RtlFunctions& call = device.rtl->call();
  return call.unload_binary ? Outcome::of(call.unload_binary(device.number, &gone->image), *device.rtl) : Outcome();
}

} // namespace omptool::worker
