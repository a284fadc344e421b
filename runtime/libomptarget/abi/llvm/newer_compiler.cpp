// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/newer_compiler.h"

#include "abi/llvm/image_compilers.h"
#include "devices/registry.h"
#include "file.h"
#include "process/loaded_object.h"
#include "process/per_process.h"

#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>

namespace omptool::llvm {
namespace {

// Returns the file's `.comment`; "" where it cannot be read, or has none.
std::string compilers_of_file(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
    return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (bytes == MAP_FAILED)
    return {};
  const std::string found(compilers_of({static_cast<const std::byte*>(bytes), size}));
  ::munmap(bytes, size);
  return found;
}

// The clangs of objects whose files have been read, as long as nothing is unloaded.
class KnownObjects {
public:
  Clangs clangs_of(const LoadedObject& asked) {
    {
      const std::lock_guard lock(mutex_);
      if (asked.unloads != unloads_)
        clangs_.clear();
      unloads_ = asked.unloads;
      if (const auto known = clangs_.find(asked.object.begin); known != clangs_.end())
        return known->second;
    }
    const Clangs clangs = clangs_in(compilers_of_file(asked.path));
    const std::lock_guard lock(mutex_);
    if (asked.unloads == unloads_)
      clangs_.emplace(asked.object.begin, clangs);
    return clangs;
  }

private:
  std::mutex mutex_;
  std::uint64_t unloads_ = 0;
  std::map<std::uintptr_t, Clangs> clangs_; // by where the object begins
};

// The clangs that compiled the executable or library around `address`.
Clangs clangs_at(const void* address) {
  const LoadedObject object = loaded_object_of(address);
  return object.path.empty() ? Clangs{} : PerProcess<KnownObjects>::get().clangs_of(object);
}

} // namespace

std::string of_newer_compiler(const std::string& fault, const void* address) {
  const Clangs of_caller = clangs_at(address);
  std::string clang = name_of(of_caller);
  Registry* const registry = Registry::current();
  if (registry && of_caller.newest <= kNewestGeneration.last_release) // its images may say more
    if (std::string of_images = registry->images_at(address).compiler; !of_images.empty())
      clang = std::move(of_images);
  const std::string newest = std::to_string(kNewestGeneration.last_release);
  return fault + ", which " + (clang.empty() ? "no clang up to " + newest + " writes" : clang + " wrote") +
         "; update omptool, or compile with clang " + newest + " or older";
}

bool is_surely_of_23(const void* address) {
  const Clangs clangs = clangs_at(address);
  if (clangs.newest)
    return form_of(clangs) == KernelForm::kArray;
  Registry* const registry = Registry::current();
  return registry && registry->images_at(address).form == KernelForm::kArray;
}

} // namespace omptool::llvm
