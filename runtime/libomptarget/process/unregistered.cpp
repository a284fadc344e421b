// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/unregistered.h"

#include "elf_file.h"
#include "file.h"
#include "process/loaded_object.h"
#include "process/own_memory.h"
#include "process/per_process.h"

#include <array>
#include <climits>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace omptool {
namespace {

constexpr std::size_t kLongestName = 4096;

// Table of a file, with addresses in the file's numbering.
struct Table {
  std::uint64_t begin, size;
};

// Entries of the documents' ABI have a section of their own, and no driver whose link could lack an option.
bool has_entries(std::string_view name, const Elf64_Shdr& section) {
  constexpr std::array<std::string_view, 2> kSections{"omp_offloading_entries", "llvm_offload_entries"};
  return (section.sh_flags & SHF_ALLOC) && std::find(kSections.begin(), kSections.end(), name) != kSections.end();
}

// Returns the place of the file's entry table; nothing where the file cannot be read, or has none.
std::optional<Table> table_of(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
    return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (bytes == MAP_FAILED)
    return std::nullopt;
  const std::optional<Elf64_Shdr> found = find_section({static_cast<const std::byte*>(bytes), size}, has_entries);
  ::munmap(bytes, size);
  return found ? std::optional(Table{found->sh_addr, found->sh_size}) : std::nullopt;
}

// Copies memory of this process that may not be there.
bool copy_of(std::uintptr_t address, void* to, std::size_t size) {
  const iovec into{to, size}, from{reinterpret_cast<void*>(address), size};
  return ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0) == static_cast<ssize_t>(size);
}

// Returns the name in the table's record of the address. In each kind of record the name is right behind the address.
std::string name_in(const LoadedObject& home, const Table& table, const void* host_address) {
  const HostRange there{home.base + table.begin, home.base + table.begin + table.size};
  if (there.end < there.begin || !home.object.contains(there))
    return {};
  for (std::uintptr_t at = there.begin; at + 2 * sizeof(void*) <= there.end; at += sizeof(void*)) {
    std::array<const void*, 2> words{};
    if (!copy_of(at, words.data(), sizeof words))
      return {};
    const auto* const name = static_cast<const char*>(words[1]);
    if (words[0] == host_address && string_at(name, kLongestName) == StringAt::kThere)
      return name;
  }
  return {};
}

std::string file_name_of(const LoadedObject& home) {
  std::string path = home.path;
  std::array<char, PATH_MAX> target{};
  if (home.permanent)
    if (const ssize_t size = ::readlink(path.c_str(), target.data(), target.size()); size > 0)
      path.assign(target.data(), static_cast<std::size_t>(size));
  return path.substr(path.rfind('/') + 1);
}

// The regions that have been looked up, as long as nothing is unloaded.
struct KnownRegions {
  std::mutex mutex;
  std::uint64_t unloads = 0;
  std::map<const void*, UnregisteredRegion> regions;
};

} // namespace

UnregisteredRegion unregistered_region(const void* host_address) {
  const LoadedObject home = loaded_object_of(host_address);
  if (home.path.empty())
    return {};
  KnownRegions& known = PerProcess<KnownRegions>::get();
  const std::lock_guard lock(known.mutex);
  if (std::exchange(known.unloads, home.unloads) != home.unloads)
    known.regions.clear();
  const auto [at, is_new] = known.regions.try_emplace(host_address);
  if (const std::optional<Table> table = is_new ? table_of(home.path) : std::nullopt)
    at->second = {name_in(home, *table, host_address), file_name_of(home)};
  return at->second;
}

} // namespace omptool
