// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image.h"

#include "common/calls.h"
#include "compile/compiled.h"
#include "counted.h"
#include "declared_processor.h"
#include "kernels/faults.h"
#include "machine.h"
#include "processor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string_view>
#include <unistd.h>

namespace omptool::host {
namespace {

Bytes bytes_of(const __tgt_device_image& image) {
  return {static_cast<const std::byte*>(image.ImageStart), static_cast<const std::byte*>(image.ImageEnd)};
}

// Returns the processor that bitcode is compiled for.
compile::Target this_processor() {
  return {machine::kTriple, "native", processor_identity()};
}

const link_map* map_of(void* handle) {
  link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

} // namespace

std::unique_ptr<Image> Image::load(const __tgt_device_image& image, const Hooks& hooks) {
  const compile::Compiled code = compile::compiled(bytes_of(image), this_processor());
  const Bytes bytes = code.bytes;
  const char* const fault = code.fault.empty() ? fault_of(bytes) : code.fault.c_str();
  if (fault) {
    fail(std::string("the image cannot be loaded: ") + fault);
    return nullptr;
  }
  std::unique_ptr<Image> loaded(new Image);
  if (!loaded->open(bytes))
    return nullptr;
  loaded->give(OMPTOOL_THREAD_STATE_SYMBOL, hooks.thread_state);
  loaded->give(OMPTOOL_TEAM_BARRIER_SYMBOL, hooks.barrier);
  loaded->give(OMPTOOL_TEAM_MEMORY_SYMBOL, hooks.memory);
  if (!loaded->build_table(bytes, image))
    return nullptr;
  loaded->mark_team_kernels();
  loaded->mark_runtime_kernels();
  loaded->look_for_parallel();
  if (bytes.data() == bytes_of(image).data()) // bitcode is compiled for this processor
    loaded->explain_processor(bytes);
  return loaded;
}

Image::~Image() {
  if (handle_)
    ::dlclose(handle_);
}

bool Image::open(Bytes bytes) {
  const std::optional<DynamicEntry> changed = own_definitions_first(bytes);
  if (std::optional<ImageFile> kept = ImageFile::kept(bytes, changed)) {
    if (open_file(std::move(*kept)))
      return true;
    ::dprintf(
        STDERR_FILENO,
        "omptarget: the image kept in OMPTOOL_KEEP_IMAGES cannot be used, and the runtime loads its own copy: %s\n",
        last_error.data());
  }
  if (std::optional<ImageFile> file = ImageFile::in_memory(bytes, changed))
    return open_file(std::move(*file));
  fail(std::string("no memory file for the image: ") + std::strerror(errno));
  return false;
}

bool Image::open_file(ImageFile file) {
  handle_ = ::dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const reason = handle_ ? nullptr : ::dlerror();
  if (!handle_) {
    fail(std::string("the image cannot be loaded: ") + (reason ? reason : "no reason given"));
    return false;
  }
  file.loaded();
  file_.emplace(std::move(file));
  const link_map* const own = map_of(handle_);
  if (own && own->l_name == file_->path())
    return true;
  fail("the image cannot be loaded: the dynamic linker took it for an object that is loaded already");
  return false;
}

// Address of a name that this image itself defines, and the size in its symbol. dlsym() would also search the libraries
// that the image needs.
void* Image::address_of(const char* name, std::int64_t& size) const {
  void* const found = ::dlsym(handle_, name);
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  const link_map* const own = map_of(handle_);
  if (!found || !own ||
      !::dladdr1(found, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT))
    return nullptr;
  if (reinterpret_cast<std::uintptr_t>(info.dli_fbase) != own->l_addr)
    return nullptr;
  size = symbol ? static_cast<std::int64_t>(symbol->st_size) : 0;
  return found;
}

// Stores a function in the variable that the image has for it, if it has one.
template <typename Function> void Image::give(const char* variable, Function function) {
  std::int64_t size = 0;
  if (void* const place = address_of(variable, size); place && size == sizeof function)
    std::memcpy(place, &function, sizeof function);
}

// The host launches kernels whose teams work together by the address of their record.
void Image::mark_team_kernels() {
  std::int64_t size = 0;
  const void* const list = address_of(OMPTOOL_TEAM_KERNELS_SYMBOL, size);
  const auto count = list ? static_cast<std::size_t>(size) / sizeof(omptool_team_kernel) : 0;
  team_kernels_.reserve(count); // records stay where they are
  for (std::size_t i = 0; i < count; ++i) {
    omptool_team_kernel known{};
    std::memcpy(&known, static_cast<const std::byte*>(list) + i * sizeof known, sizeof known);
    if (!known.kernel || known.memory < 0)
      return;
    const TeamKernel& kernel = team_kernels_.emplace_back(known.kernel, static_cast<std::size_t>(known.memory));
    for (__tgt_offload_entry& entry : entries_)
      if (entry.size == 0 && entry.addr == kernel.kernel)
        entry.addr = kernel.handle();
  }
}

// Replaces the addresses of kernels that call a device runtime in the image by those of their records.
void Image::mark_runtime_kernels() {
  std::int64_t size = 0;
  if (!address_of(OMPTOOL_DEVICE_RUNTIME_SYMBOL, size))
    return;
  runtime_kernels_.reserve(entries_.size()); // records stay where they are
  for (__tgt_offload_entry& entry : entries_) {
    if (entry.size != 0 || !entry.addr || !entry.name)
      continue;
    const void* const environment = address_of((std::string(entry.name) + "_kernel_environment").c_str(), size);
    if (environment && size >= RuntimeKernel::kEnvironment)
      entry.addr = runtime_kernels_.emplace_back(RuntimeKernel::with(entry.addr, environment)).handle();
  }
}

// Looks for calls of libomp that start parallel regions and leagues of teams, in the dynamic string table, which the
// dynamic linker has checked.
void Image::look_for_parallel() {
  const link_map* const own = map_of(handle_);
  std::string_view names;
  for (const ElfW(Dyn)* entry = own ? own->l_ld : nullptr; entry && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB)
      names = {reinterpret_cast<const char*>(entry->d_un.d_ptr), names.size()};
    else if (entry->d_tag == DT_STRSZ)
      names = {names.data(), entry->d_un.d_val};
  opens_parallel_ = names.data() && names.find("__kmpc_fork_") != names.npos;
}

// Adds the image's processor to the message about a SIGILL.
void Image::explain_processor(Bytes bytes) const {
  const link_map* const own = map_of(handle_);
  const std::string declared = declared_processor(bytes), here = declared.empty() ? "" : processor_name();
  if (!own)
    return;
  const std::string text = declared.empty() ? "" : "the image is for " + declared;
  explain_illegal_instructions(reinterpret_cast<const void*>(own->l_addr),
                               here.empty() ? text : text + "; this machine has " + here);
}

bool Image::opens_parallel(const void* kernel) const {
  const auto is = [&](const __tgt_offload_entry& entry) { return entry.size == 0 && entry.addr == kernel; };
  return opens_parallel_ && std::any_of(entries_.begin(), entries_.end(), is);
}

// Own records of the image, after relocation. The image may be damaged: addresses and names that point outside of it
// become null here.
std::vector<__tgt_offload_entry> Image::own_records(Bytes bytes) const {
  std::vector<__tgt_offload_entry> records;
  const std::optional<TableLocation> where = entry_table(bytes);
  const link_map* const own = map_of(handle_);
  if (!where || !own || where->size > readable_from(bytes, where->address))
    return records;
  const auto rest_from = [&](const void* address) {
    return readable_from(bytes, reinterpret_cast<std::uintptr_t>(address) - own->l_addr);
  };
  const auto* const table = reinterpret_cast<const std::byte*>(own->l_addr + where->address);
  for (std::uint64_t at = 0; where->size - at >= where->record; at += where->record) {
    __tgt_offload_entry entry{};
    if (where->record == kNamelessRecord) {
      std::int32_t size = 0;
      std::memcpy(&entry.addr, table + at, sizeof entry.addr);
      std::memcpy(&size, table + at + sizeof entry.addr, sizeof size);
      entry.size = size;
    } else {
      std::memcpy(&entry, table + at, sizeof entry);
    }
    if (!rest_from(entry.addr))
      entry.addr = nullptr;
    if (const std::uint64_t rest = rest_from(entry.name); rest == 0 || ::strnlen(entry.name, rest) == rest)
      entry.name = nullptr;
    records.push_back(entry);
  }
  return records;
}

void Image::read_own_entries(Bytes bytes) {
  for (const __tgt_offload_entry& entry : own_records(bytes))
    if (entry.addr && entry.name)
      own_entries_.push_back(entry);
}

// Pairs entries by position, because the host's entries have no names (libtarget.h). Only the table's length and the
// sizes can show a mismatch.
bool Image::pair_by_position(Bytes bytes, const __tgt_device_image& image) {
  entries_ = own_records(bytes);
  const std::size_t wanted = static_cast<std::size_t>(image.EntriesEnd - image.EntriesBegin);
  if (entries_.size() != wanted) {
    fail("the host lists " + counted(wanted, "entry") + ", the image " + std::to_string(entries_.size()) +
         ", and without names they pair by position");
    return false;
  }
  for (std::size_t i = 0; i < wanted; ++i)
    if (entries_[i].addr && entries_[i].size != image.EntriesBegin[i].size) {
      fail("entry " + std::to_string(i) + " has " + std::to_string(image.EntriesBegin[i].size) +
           " bytes on the host and " + std::to_string(entries_[i].size) + " in the image");
      return false;
    }
  table_ = {entries_.data(), entries_.data() + entries_.size()};
  return true;
}

bool Image::build_table(Bytes bytes, const __tgt_device_image& image) {
  const auto has_name = [](const __tgt_offload_entry& entry) { return entry.name != nullptr; };
  if (image.EntriesBegin != image.EntriesEnd && std::none_of(image.EntriesBegin, image.EntriesEnd, has_name))
    return pair_by_position(bytes, image);
  bool own_read = false;
  for (const __tgt_offload_entry* wanted = image.EntriesBegin; wanted != image.EntriesEnd; ++wanted) {
    __tgt_offload_entry found{nullptr, wanted->name, wanted->size};
    std::int64_t size = 0;
    if (wanted->name && *wanted->name)
      found.addr = address_of(wanted->name, size);
    if (wanted->name && !found.addr) {
      if (!own_read)
        read_own_entries(bytes);
      own_read = true;
      for (const __tgt_offload_entry& own : own_entries_)
        if (std::strcmp(own.name, wanted->name) == 0) {
          found.addr = own.addr;
          size = own.size;
        }
    }
    // Copies of a variable would run past the shorter of the two.
    if (found.addr && wanted->size > 0 && size > 0 && size != wanted->size) {
      fail("global " + std::string(wanted->name) + " has " + std::to_string(wanted->size) + " bytes on the host and " +
           std::to_string(size) + " in the image");
      return false;
    }
    entries_.push_back(found);
  }
  table_ = {entries_.data(), entries_.data() + entries_.size()};
  return true;
}

} // namespace omptool::host
