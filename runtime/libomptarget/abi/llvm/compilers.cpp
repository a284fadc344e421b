// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/compilers.h"

#include "devices/registry.h"
#include "elf_file.h"
#include "file.h"
#include "process/loaded_object.h"
#include "process/per_process.h"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

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
struct KnownObjects {
  std::mutex mutex;
  std::uint64_t unloads = 0;
  std::map<std::uintptr_t, Clangs> clangs; // by where the object begins
};

// The clangs that compiled the executable or library around `address`.
Clangs clangs_at(const void* address) {
  const LoadedObject object = loaded_object_of(address);
  if (object.path.empty())
    return {};
  KnownObjects& known = PerProcess<KnownObjects>::get();
  const std::lock_guard lock(known.mutex);
  if (std::exchange(known.unloads, object.unloads) != object.unloads)
    known.clangs.clear();
  const auto [at, is_new] = known.clangs.try_emplace(object.object.begin);
  if (is_new)
    at->second = clangs_in(compilers_of_file(object.path));
  return at->second;
}

// Says where the images of the executable or library around `address` come from.
ImageOrigin images_at(const void* address) {
  Registry* const registry = Registry::current();
  return registry ? registry->images_at(address) : ImageOrigin{};
}

} // namespace

std::string_view compilers_of(Bytes image) {
  constexpr std::uint64_t kMost = 1 << 16; // linkers keep each string once
  const std::optional<Elf64_Shdr> comment =
      find_section(image, [](std::string_view name, const Elf64_Shdr&) { return name == ".comment"; });
  return comment ? content_of(image, *comment).substr(0, kMost) : std::string_view();
}

Clangs clangs_in(std::string_view compilers) {
  constexpr std::string_view kClang = "clang version ";
  constexpr int kMost = 1000;
  constexpr std::size_t kLongestVersion = 32;
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  const auto ends_version = [](char c) { return c <= ' ' || c > '~'; };
  Clangs found;
  for (std::size_t at = compilers.find(kClang); at != std::string_view::npos; at = compilers.find(kClang, at)) {
    at += kClang.size();
    int release = 0;
    for (std::size_t i = at; i < compilers.size() && is_digit(compilers[i]) && release < kMost; ++i)
      release = 10 * release + (compilers[i] - '0');
    if (release == 0)
      continue;
    if (release > found.newest) {
      const std::string_view rest = compilers.substr(at, kLongestVersion);
      found.version.assign(rest.begin(), std::find_if(rest.begin(), rest.end(), ends_version));
    }
    found.newest = std::max(found.newest, release);
    found.oldest = found.oldest ? std::min(found.oldest, release) : release;
    found.any_18 = found.any_18 || release == 18;
  }
  return found;
}

KernelForm form_of(const Clangs& clangs) {
  constexpr int kFirstWithEnvironment = 18, kFirstWithArray = 23;
  if (clangs.newest == 0)
    return KernelForm::kAsCalled;
  if (clangs.newest < kFirstWithEnvironment)
    return KernelForm::kWithoutEnvironment;
  if (clangs.oldest >= kFirstWithArray)
    return KernelForm::kArray;
  return clangs.oldest >= kFirstWithEnvironment && clangs.newest < kFirstWithArray ? KernelForm::kRegisters
                                                                                   : KernelForm::kAsCalled;
}

std::string of_newer_compiler(const std::string& fault, const void* address) {
  const Clangs of_caller = clangs_at(address);
  std::string clang = of_caller.name();
  if (of_caller.newest <= kNewestGeneration.last_release) // its images may say more
    if (std::string of_images = images_at(address).compiler; !of_images.empty())
      clang = std::move(of_images);
  const std::string newest = std::to_string(kNewestGeneration.last_release);
  return fault + ", which " + (clang.empty() ? "no clang up to " + newest + " writes" : clang + " wrote") +
         "; update omptool, or compile with clang " + newest + " or older";
}

bool is_surely_of_23(const void* address) {
  const Clangs clangs = clangs_at(address);
  return (clangs.newest ? form_of(clangs) : images_at(address).form) == KernelForm::kArray;
}

} // namespace omptool::llvm
