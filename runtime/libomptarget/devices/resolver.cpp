// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/resolver.h"

#include "devices/busy.h"
#include "elf_file.h"
#include "machine.h"
#include "process/message.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

namespace omptool {
namespace {

// Returns the fault of an image that is ELF code for another CPU; "" for every other image.
std::string fault_of_cpu(const __tgt_device_image& image) {
  constexpr struct {
    Elf64_Half number;
    const char* name;
  } kMachines[] = {{EM_386, "i386"},      {EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"},
                   {EM_PPC64, "ppc64le"}, {EM_RISCV, "riscv64"}, {EM_S390, "s390x"}};
  const std::optional<Elf64_Ehdr> header =
      elf_header({static_cast<const std::byte*>(image.ImageStart), static_cast<const std::byte*>(image.ImageEnd)});
  for (const auto& [number, name] : kMachines)
    if (header && header->e_machine == number && number != machine::kElf)
      return std::string("it is for ") + name + ", and this machine is " + machine::kName;
  return {};
}

void count_devices(Rtl& rtl) {
  if (rtl.counted())
    return;
  rtl.device_count();
  if (rtl.has_failed())
    say("plugin %s was refused: %s", rtl.name().c_str(), rtl.refusal().c_str());
}

// Says that none of these plugins has a device, and why.
std::string why_none_of(const std::vector<Rtl*>& rtls) {
  std::string said;
  for (Rtl* const rtl : rtls)
    said += (said.empty() ? "plugin " : ", plugin ") + rtl->name() + " has none" + rtl->why_none();
  return said;
}

} // namespace

void Resolver::resolve() {
  if (Busy::is_with(&libraries_))
    return;
  const Busy here{&libraries_};
  numbers_.open_rtls();
  if (numbers_all.load(std::memory_order_relaxed)) {
    for (const std::unique_ptr<Rtl>& rtl : numbers_.rtls())
      count_devices(*rtl); // without the lock: a driver may need the dynamic linker
    const std::lock_guard resolving(resolving_);
    for (const std::unique_ptr<Rtl>& rtl : numbers_.rtls())
      numbers_.number(*rtl);
  }
  while (const std::shared_ptr<Library> next = libraries_.next_pending())
    for (Rtl* const rtl : enlist_if_counted(next))
      count_devices(*rtl); // which may be refused then: the library is examined again
}

// Examines the library, and enlists it if its plugins have counted their devices. Returns the plugins that have not.
std::vector<Rtl*> Resolver::enlist_if_counted(const std::shared_ptr<Library>& library) {
  // Patience to examine a library: this thread may hold the dynamic linker's lock, and a plugin that another thread has
  // called may wait for that lock.
  constexpr std::chrono::seconds kPatienceToExamine{10};
  const std::unique_lock turn(examining_, kPatienceToExamine);
  std::optional<LibraryContents> contents = libraries_.is_pending(*library) ? examine(*library) : std::nullopt;
  std::vector<Rtl*> uncounted;
  if (!contents)
    return uncounted;
  for (const RegisteredImage& image : contents->images)
    std::copy_if(image.rtls.begin(), image.rtls.end(), std::back_inserter(uncounted),
                 [](const Rtl* rtl) { return !rtl->counted(); });
  if (uncounted.empty())
    enlist(library, std::move(*contents));
  return uncounted;
}

void Resolver::number_all() {
  numbers_all.store(true, std::memory_order_relaxed);
  resolve();
}

// Threads may each examine a library, since plugins are asked without a lock. Returns nothing if the library is
// malformed, or unregistered meanwhile.
std::optional<LibraryContents> Resolver::examine(const Library& library) {
  LibraryContents contents;
  std::string fault;
  {
    const std::lock_guard reading(libraries_.reading());
    if (library.removed)
      return std::nullopt;
    fault = library.read(library.home.descriptor, contents);
  }
  if (contents.explain)
    fault = contents.explain(fault, library.home.descriptor);
  if (!fault.empty()) {
    const std::string ignored = library.home.name() + ": " + fault;
    if (libraries_.ignore(library, ignored))
      say("the runtime ignores the images of %s", ignored.c_str());
    return std::nullopt;
  }
  for (RegisteredImage& image : contents.images)
    if (!find_owners(library, contents, image))
      return std::nullopt;
  return contents;
}

// Enlists the library, unless another thread that has examined it was first.
void Resolver::enlist(const std::shared_ptr<Library>& library, LibraryContents contents) {
  const char* const remark = contents.remark;
  {
    const std::lock_guard resolving(resolving_);
    if (!libraries_.is_pending(*library))
      return;
    for (const RegisteredImage& image : contents.images)
      for (Rtl* const rtl : image.rtls)
        numbers_.number(*rtl);
    libraries_.enlist(library, std::move(contents));
  }
  if (remark)
    say("%s %s", library->home.name().c_str(), remark);
}

// Finds all plugins that accept the image (decision 34), or the reason of each that refuses, if it has one. For an
// image of another CPU that is the reason, whatever the plugins report. Returns false if the library is unregistered
// meanwhile.
bool Resolver::find_owners(const Library& library, const LibraryContents& contents, RegisteredImage& image) {
  std::vector<char> bytes;
  __tgt_device_image raw = contents.raw(image);
  if (!library.copy_if_unloadable(raw, bytes, libraries_.reading()))
    return false;
  for (const std::unique_ptr<Rtl>& rtl : numbers_.rtls()) {
    if (!rtl->refusal().empty())
      continue;
    if (rtl->call().is_valid_binary(&raw))
      image.rtls.push_back(rtl.get());
    else if (const std::string why = rtl->last_error(); !why.empty())
      image.refusals += (image.refusals.empty() ? "" : ", ") + rtl->name() + why;
  }
  if (!image.rtls.empty())
    image.refusals.clear();
  else if (std::string fault = fault_of_cpu(raw); !fault.empty())
    image.refusals = std::move(fault);
  return true;
}

std::string Resolver::reason_for_none() {
  if (Busy::is_with(&libraries_))
    return "there is no device yet: a plugin makes this call while the runtime asks it for its devices";
  const std::string none = "there is no device: ";
  if (numbers_.rtls().empty()) // the list stays as it was found
    return none + why_no_plugin();
  std::string names, refusals;
  for (const std::unique_ptr<Rtl>& rtl : numbers_.rtls()) {
    if (!rtl->refusal().empty())
      return none + "plugin " + rtl->name() + " was refused: " + rtl->refusal();
    names += (names.empty() ? "" : ", ") + rtl->name();
  }
  std::vector<Rtl*> owners; // of the first image that a plugin accepts
  libraries_.each([&](const std::shared_ptr<Library>& library) {
    for (const RegisteredImage& image : library->images) {
      if (owners.empty())
        owners = image.rtls;
      if (refusals.empty() && !image.refusals.empty())
        refusals = ": " + image.refusals;
    }
  });
  if (!owners.empty())
    return none + why_none_of(owners);
  if (libraries_.is_over())
    return none + "every library has unregistered its images";
  if (const std::string ignored = libraries_.ignored(); !ignored.empty())
    return none + "the runtime ignores the images of " + ignored;
  return none + "no plugin (" + names + ") accepts an image of this program" + refusals;
}

} // namespace omptool
