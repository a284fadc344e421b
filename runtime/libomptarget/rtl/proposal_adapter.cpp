// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/proposal_adapter.h"

#include "bytes.h"
#include "counted.h"
#include "per_row.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>
#include <utility>

namespace omptool::proposal {
namespace {

// The document's tgt_target_table; the later interface has another type of that name.
struct Table {
  const Entry* begin;
  const Entry* end;
};

// Functions of section 5; libtarget_rtl.h settles what that section leaves open.
struct Functions {
  int (*device_type)(int) = nullptr;
  int (*number_of_devices)() = nullptr;
  void (*init_device)(int) = nullptr;
  tgt_target_table* (*load_binary)(int, void*, int) = nullptr; // a Table
  void* (*data_alloc)(int, int) = nullptr;
  int (*data_submit)(int, void*, void*, int) = nullptr;
  int (*data_retrieve)(int, void*, void*, int) = nullptr;
  int (*data_delete)(int, void*) = nullptr;
  int (*run_target_region)(int, void*, void*) = nullptr;
  int (*run_target_team_region)(int, void*, void*) = nullptr;
};

// Reason of the last failure on this thread, or "": the plugin itself reports none. Has no destructor, because the
// thread that ends the process makes its last calls in exit handlers, after its variables are destroyed.
thread_local constinit std::array<char, 256> reason{};

void set_reason(std::string_view text) {
  reason[text.copy(reason.data(), reason.size() - 1)] = '\0';
}

std::int32_t result_of(const char* call, int result) {
  set_reason(result == 0 ? std::string() : std::string(call) + " returned " + std::to_string(result));
  return result;
}

bool fits_int(std::int64_t size) {
  set_reason("");
  if (size >= 0 && size <= INT_MAX)
    return true;
  set_reason("a size of " + std::to_string(size) + " bytes is more than a plugin of libtarget_rtl.h can count");
  return false;
}

std::int64_t size_of(const __tgt_device_image& image) {
  return static_cast<const char*>(image.ImageEnd) - static_cast<const char*>(image.ImageStart);
}

// The machine that an ELF image is for, or nothing.
std::optional<int> machine_of(const __tgt_device_image& image) {
  const auto* const bytes = static_cast<const unsigned char*>(image.ImageStart);
  constexpr std::size_t kMachineAt = offsetof(Elf64_Ehdr, e_machine); // in 32-bit files, too
  if (size_of(image) < static_cast<std::int64_t>(sizeof(Elf32_Ehdr)) || std::memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return std::nullopt;
  const bool is_big = bytes[EI_DATA] == ELFDATA2MSB;
  return bytes[kMachineAt + is_big] | bytes[kMachineAt + !is_big] << 8;
}

// Loaded table of a plugin, with the host's names. Kept forever, as the image is.
struct Loaded {
  std::vector<__tgt_offload_entry> entries;
  tgt_target_table table{};
  Loaded* next = nullptr;
};

// Plugin data, made once for each plugin and never freed, because devices outlive every library.
struct Plugin {
  void* handle;
  Functions call = {};
  std::atomic<Loaded*> loaded{nullptr};
};

std::string fault_of(const Plugin& plugin, const __tgt_device_image& image) {
  const std::optional<int> machine = machine_of(image);
  if (!machine)
    return "the image is not in ELF";
  const int type = plugin.call.device_type(0);
  if (std::any_of(image.EntriesBegin, image.EntriesEnd, [](const __tgt_offload_entry& entry) { return entry.name; }))
    return "it is for programs of libtarget.h, whose entries have no names";
  if (type != *machine)
    return "the image is for machine " + std::to_string(*machine) + ", its devices are of type " + std::to_string(type);
  return {};
}

// Returns the fault of the plugin's table, or "". A table may have entry sizes; a size other than the host's shows that
// the two tables do not match.
std::string fault_of(const Table* table, const __tgt_device_image& image) {
  const auto wanted = static_cast<std::size_t>(image.EntriesEnd - image.EntriesBegin);
  if (!table)
    return "__tgt_rtl_load_binary returned no table";
  if (!is_range(table->begin, table->end))
    return "the plugin's table does not end where an entry ends";
  if (const auto found = static_cast<std::size_t>(table->end - table->begin); found != wanted)
    return "the plugin's table has " + counted(found, "entry") + ", the host's has " + std::to_string(wanted) +
           ", and entries without names pair by position";
  for (std::size_t i = 0; i < wanted; ++i)
    if (table->begin[i].address && table->begin[i].size != image.EntriesBegin[i].size)
      return "entry " + std::to_string(i) + " has " + std::to_string(image.EntriesBegin[i].size) +
             " bytes on the host and " + std::to_string(table->begin[i].size) + " in the image";
  return {};
}

// Pairs by position.
tgt_target_table* load(Plugin& plugin, std::int32_t device, const __tgt_device_image& image) {
  const std::int64_t size = size_of(image);
  if (!fits_int(size))
    return nullptr;
  const auto* const table =
      reinterpret_cast<const Table*>(plugin.call.load_binary(device, image.ImageStart, static_cast<int>(size)));
  set_reason(fault_of(table, image));
  if (reason.front())
    return nullptr;
  auto* const made = new Loaded;
  for (const Entry* entry = table->begin; entry != table->end; ++entry) {
    const __tgt_offload_entry& host = image.EntriesBegin[entry - table->begin];
    made->entries.push_back({entry->address, host.name, host.size});
  }
  made->table = {made->entries.data(), made->entries.data() + made->entries.size()};
  made->next = plugin.loaded.load(std::memory_order_relaxed);
  while (!plugin.loaded.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return &made->table;
}

std::int32_t move(const char* name, int (*call)(int, void*, void*, int), std::int32_t device, void* to, void* from,
                  std::int64_t size) {
  return fits_int(size) ? result_of(name, call(device, to, from, static_cast<int>(size))) : 1;
}

// Runs a kernel. The plugin does not get the count, so the words that it may read continue behind the arguments.
std::int32_t run(const char* name, int (*call)(int, void*, void*), std::int32_t device, void* entry, void** variables,
                 std::int32_t count) {
  constexpr std::size_t kReadable = 8;
  const std::size_t used = static_cast<std::size_t>(count);
  PerRow<void*> table(std::max(used + 1, kReadable));
  std::copy_n(variables, used, table.begin());
  const std::int32_t result = result_of(name, call(device, entry, table.data()));
  return result == OMPTARGET_RTL_NOT_STARTED ? 1 : result; // there, it is an error as any other
}

// Most plugins: the core calls plain functions, which cannot carry their plugin, so each place has functions of its
// own.
constexpr std::size_t kMostPlugins = 8;
std::array<std::atomic<Plugin*>, kMostPlugins> plugins{};

template <std::size_t kPlace> Plugin& at() {
  return *plugins[kPlace].load(std::memory_order_acquire);
}

template <std::size_t kPlace> RtlFunctions functions_of() {
  RtlFunctions all;
  all.number_of_devices = [] { return at<kPlace>().call.number_of_devices(); };
  all.is_valid_binary = [](__tgt_device_image* image) {
    set_reason(fault_of(at<kPlace>(), *image));
    return reason.front() ? 0 : 1;
  };
  all.init_device = [](std::int32_t device) {
    at<kPlace>().call.init_device(device);
    return 0;
  };
  all.load_binary = [](std::int32_t device, __tgt_device_image* image) { return load(at<kPlace>(), device, *image); };
  all.data_alloc = [](std::int32_t device, std::int64_t size) {
    return fits_int(size) ? at<kPlace>().call.data_alloc(device, static_cast<int>(size)) : nullptr;
  };
  all.data_submit = [](std::int32_t device, void* target, void* host, std::int64_t size) {
    return move("__tgt_rtl_data_submit", at<kPlace>().call.data_submit, device, target, host, size);
  };
  all.data_retrieve = [](std::int32_t device, void* host, void* target, std::int64_t size) {
    return move("__tgt_rtl_data_retrieve", at<kPlace>().call.data_retrieve, device, host, target, size);
  };
  all.data_delete = [](std::int32_t device, void* target) {
    return result_of("__tgt_rtl_data_delete", at<kPlace>().call.data_delete(device, target));
  };
  all.run_target_region = [](std::int32_t device, void* entry, void** variables, std::int32_t count) {
    return run("__tgt_rtl_run_target_region", at<kPlace>().call.run_target_region, device, entry, variables, count);
  };
  all.run_target_team_region = [](std::int32_t device, void* entry, void** variables, std::int32_t count, std::int32_t,
                                  std::int32_t) {
    return run("__tgt_rtl_run_target_team_region", at<kPlace>().call.run_target_team_region, device, entry, variables,
               count);
  };
  all.last_error = []() -> const char* { return reason.front() ? reason.data() : nullptr; };
  return all;
}

template <std::size_t... kPlaces> RtlFunctions functions_of(std::size_t place, std::index_sequence<kPlaces...>) {
  constexpr RtlFunctions (*kMakers[])() = {functions_of<kPlaces>...};
  return kMakers[place]();
}

} // namespace

bool is_plugin(void* handle) {
  return ::dlsym(handle, "__tgt_rtl_device_type") && !::dlsym(handle, "__tgt_rtl_is_valid_binary");
}

// Adapts a plugin without a lock, which a child of fork() might find held. Threads that adapt the same plugin at the
// same time get the same place.
std::string adapt(void* handle, RtlFunctions& functions) {
  auto mine = std::make_unique<Plugin>(handle);
  RtlSymbols symbols{handle};
  symbols.require("__tgt_rtl_device_type", mine->call.device_type);
  symbols.require_common(mine->call);
  if (!symbols.missing.empty())
    return "it lacks " + symbols.missing;
  for (std::size_t place = 0; place < kMostPlugins; ++place) {
    Plugin* known = nullptr;
    if (plugins[place].compare_exchange_strong(known, mine.get(), std::memory_order_acq_rel))
      known = mine.release();
    if (known->handle == handle) {
      functions = functions_of(place, std::make_index_sequence<kMostPlugins>());
      return {};
    }
  }
  return "there are " + std::to_string(kMostPlugins) + " plugins of its interface (libtarget_rtl.h) before it";
}

} // namespace omptool::proposal
