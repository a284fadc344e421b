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

// The functions of section 5; libtarget_rtl.h says what it leaves open.
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

// Says why the last call on this thread failed, or ""; the plugin itself has no words for it. Without a destructor: the
// thread that ends the process makes its last calls in exit handlers, when its variables are gone.
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

// One plugin, with the functions that the core calls. Made once for each, never freed: devices outlive every library.
class Adapter {
public:
  explicit Adapter(void* handle) : handle_(handle) {}
  // Returns the functions that are missing, or "".
  std::string bind();
  void* handle() const { return handle_; }

  std::int32_t number_of_devices() { return call_.number_of_devices(); }
  std::int32_t is_valid_binary(__tgt_device_image* image);
  std::int32_t init_device(std::int32_t device) {
    call_.init_device(device);
    return 0;
  }
  tgt_target_table* load_binary(std::int32_t device, __tgt_device_image* image);
  void* data_alloc(std::int32_t device, std::int64_t size) {
    return fits_int(size) ? call_.data_alloc(device, static_cast<int>(size)) : nullptr;
  }
  std::int32_t data_submit(std::int32_t device, void* target, void* host, std::int64_t size) {
    if (!fits_int(size))
      return 1;
    return result_of("__tgt_rtl_data_submit", call_.data_submit(device, target, host, static_cast<int>(size)));
  }
  std::int32_t data_retrieve(std::int32_t device, void* host, void* target, std::int64_t size) {
    if (!fits_int(size))
      return 1;
    return result_of("__tgt_rtl_data_retrieve", call_.data_retrieve(device, host, target, static_cast<int>(size)));
  }
  std::int32_t data_delete(std::int32_t device, void* target) {
    return result_of("__tgt_rtl_data_delete", call_.data_delete(device, target));
  }
  std::int32_t run_target_region(std::int32_t device, void* entry, void** variables, std::int32_t count) {
    return run("__tgt_rtl_run_target_region", call_.run_target_region, device, entry, variables, count);
  }
  std::int32_t run_target_team_region(std::int32_t device, void* entry, void** variables, std::int32_t count,
                                      std::int32_t, std::int32_t) {
    return run("__tgt_rtl_run_target_team_region", call_.run_target_team_region, device, entry, variables, count);
  }

private:
  // A plugin's table with the host's names, for as long as the image is loaded: for ever.
  struct Loaded {
    std::vector<__tgt_offload_entry> entries;
    tgt_target_table table{};
    Loaded* next = nullptr;
  };
  std::string fault_of(const __tgt_device_image& image) const;
  std::string fault_of(const Table* table, const __tgt_device_image& image) const;
  static std::int32_t run(const char* name, int (*call)(int, void*, void*), std::int32_t device, void* entry,
                          void** variables, std::int32_t count);

  void* handle_;
  Functions call_;
  std::atomic<Loaded*> loaded_{nullptr};
};

std::string Adapter::bind() {
  RtlSymbols symbols{handle_};
  symbols.require("__tgt_rtl_device_type", call_.device_type);
  symbols.require_common(call_);
  return symbols.missing;
}

std::int32_t Adapter::is_valid_binary(__tgt_device_image* image) {
  set_reason(fault_of(*image));
  return reason.front() == '\0';
}

std::string Adapter::fault_of(const __tgt_device_image& image) const {
  const std::optional<int> machine = machine_of(image);
  if (!machine)
    return "the image is not in ELF";
  const int type = call_.device_type(0);
  if (std::any_of(image.EntriesBegin, image.EntriesEnd, [](const __tgt_offload_entry& entry) { return entry.name; }))
    return "it is for programs of libtarget.h, whose entries have no names";
  if (type != *machine)
    return "the image is for machine " + std::to_string(*machine) + ", its devices are of type " + std::to_string(type);
  return {};
}

// Returns what is wrong with the plugin's table, or "". The plugin may say how large an entry is; a size other than the
// host's shows that the two tables do not belong together.
std::string Adapter::fault_of(const Table* table, const __tgt_device_image& image) const {
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
tgt_target_table* Adapter::load_binary(std::int32_t device, __tgt_device_image* image) {
  const std::int64_t size = size_of(*image);
  if (!fits_int(size))
    return nullptr;
  const auto* const table =
      reinterpret_cast<const Table*>(call_.load_binary(device, image->ImageStart, static_cast<int>(size)));
  if (const std::string fault = fault_of(table, *image); !fault.empty()) {
    set_reason(fault);
    return nullptr;
  }
  auto* const made = new Loaded;
  for (const Entry* entry = table->begin; entry != table->end; ++entry) {
    const __tgt_offload_entry& host = image->EntriesBegin[entry - table->begin];
    made->entries.push_back({entry->address, host.name, host.size});
  }
  made->table = {made->entries.data(), made->entries.data() + made->entries.size()};
  made->next = loaded_.load(std::memory_order_relaxed);
  while (!loaded_.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return &made->table;
}

// The plugin does not learn the count, so what it may read goes on behind the arguments.
std::int32_t Adapter::run(const char* name, int (*call)(int, void*, void*), std::int32_t device, void* entry,
                          void** variables, std::int32_t count) {
  constexpr std::size_t kReadable = 8;
  const std::size_t used = static_cast<std::size_t>(count);
  PerRow<void*> table(std::max(used + 1, kReadable));
  std::copy_n(variables, used, table.begin());
  const std::int32_t result = result_of(name, call(device, entry, table.data()));
  return result == OMPTARGET_RTL_NOT_STARTED ? 1 : result; // there, it is an error as any other
}

// The core calls plain functions, which must know their plugin by themselves: each place has its own.
constexpr std::size_t kMostPlugins = 8;
std::array<std::atomic<Adapter*>, kMostPlugins> adapters{};

template <std::size_t kPlace, auto kMember, typename Result, typename... Parameters>
auto plain(Result (Adapter::*)(Parameters...)) {
  return +[](Parameters... given) { return (adapters[kPlace].load(std::memory_order_acquire)->*kMember)(given...); };
}

template <std::size_t kPlace> RtlFunctions functions_of() {
  RtlFunctions all;
#define OMPTOOL_RTL_PLAIN(function) all.function = plain<kPlace, &Adapter::function>(&Adapter::function);
  OMPTOOL_RTL_COMMON(OMPTOOL_RTL_PLAIN)
  OMPTOOL_RTL_PLAIN(is_valid_binary)
  OMPTOOL_RTL_PLAIN(init_device)
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

// Without a lock, which a child of fork() might find held; threads that come at once with the same plugin get the same
// place.
std::string adapt(void* handle, RtlFunctions& functions) {
  auto mine = std::make_unique<Adapter>(handle);
  if (const std::string missing = mine->bind(); !missing.empty())
    return "it lacks " + missing;
  for (std::size_t place = 0; place < kMostPlugins; ++place) {
    Adapter* known = nullptr;
    if (adapters[place].compare_exchange_strong(known, mine.get(), std::memory_order_acq_rel))
      known = mine.release();
    if (known->handle() == handle) {
      functions = functions_of(place, std::make_index_sequence<kMostPlugins>());
      return {};
    }
  }
  return "there are " + std::to_string(kMostPlugins) + " plugins of its interface (libtarget_rtl.h) before it";
}

} // namespace omptool::proposal
