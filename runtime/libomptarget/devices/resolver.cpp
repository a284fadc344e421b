// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes in what has registered: reads descriptors, asks plugins, numbers devices.
#include "devices/registry.h"

#include "elf_file.h"
#include "machine.h"
#include "observe/events/sink.h"
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

void Registry::resolve_registrations() {
  if (Busy::is_with(this))
    return;
  const Busy here{this};
  open_rtls();
  if (numbers_all.load(std::memory_order_relaxed)) {
    for (const std::unique_ptr<Rtl>& rtl : rtls_)
      count_devices(*rtl); // without the lock: a driver may need the dynamic linker
    const std::lock_guard resolving(resolving_);
    for (const std::unique_ptr<Rtl>& rtl : rtls_)
      number_devices(*rtl);
  }
  while (const std::shared_ptr<Library> next = next_pending())
    for (Rtl* const rtl : take_in_if_counted(next))
      count_devices(*rtl); // which may be refused then: the library is examined again
}

// Examines the library, and takes it in if its plugins have counted their devices. Returns those that have yet to.
std::vector<Rtl*> Registry::take_in_if_counted(const std::shared_ptr<Library>& library) {
  // Not longer: this thread may have the dynamic linker locked, for which a plugin waits that another one has called.
  constexpr std::chrono::seconds kPatienceToExamine{10};
  const std::unique_lock turn(examining_, kPatienceToExamine);
  std::optional<LibraryContents> contents = is_pending(*library) ? examine(*library) : std::nullopt;
  std::vector<Rtl*> uncounted;
  if (!contents)
    return uncounted;
  for (const RegisteredImage& image : contents->images)
    std::copy_if(image.rtls.begin(), image.rtls.end(), std::back_inserter(uncounted),
                 [](const Rtl* rtl) { return !rtl->counted(); });
  if (uncounted.empty())
    take_in(library, std::move(*contents));
  return uncounted;
}

bool Registry::is_pending(const Library& library) {
  const std::shared_lock lock(mutex_);
  return !library.removed && library.number > examined_up_to_;
}

void Registry::number_all() {
  numbers_all.store(true, std::memory_order_relaxed);
  resolve_registrations();
}

// Threads may each open them; the first list stays.
void Registry::open_rtls() {
  if (rtls_found_.load(std::memory_order_acquire))
    return;
  std::vector<UnreadFolder> unread;
  std::vector<std::unique_ptr<Rtl>> found = find_rtls(&unread);
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) { // faults that end the use neither of a plugin nor of all of them
    for (const UnreadFolder& folder : unread)
      say("OMPTOOL_PLUGIN_PATH names %s, which cannot be read: %s", folder.path.c_str(), folder.reason.c_str());
    for (const std::unique_ptr<Rtl>& rtl : found)
      if (!rtl->queues_lack().empty())
        say("the runtime uses the synchronous functions of plugin %s, which lacks some of the asynchronous ones: %s",
            rtl->name().c_str(), rtl->queues_lack().c_str());
  }
  const std::lock_guard resolving(resolving_);
  if (rtls_found_)
    return;
  rtls_ = std::move(found);
  rtls_found_.store(true, std::memory_order_release);
}

// Returns the first library that nobody has taken in, or null.
std::shared_ptr<Library> Registry::next_pending() {
  const std::lock_guard lock(mutex_);
  const auto first = libraries_.upper_bound(examined_up_to_);
  any_pending_ = first != libraries_.end();
  return any_pending_ ? first->second : nullptr;
}

// Threads may each examine a library, since plugins are asked without a lock. Returns nothing if the library is
// malformed, or unregistered meanwhile.
std::optional<LibraryContents> Registry::examine(const Library& library) {
  LibraryContents contents;
  std::string fault;
  {
    const std::lock_guard reading(reading_);
    if (library.removed)
      return std::nullopt;
    fault = library.read(library.home.descriptor, contents);
  }
  if (contents.explain)
    fault = contents.explain(fault, library.home.descriptor);
  if (!fault.empty()) {
    ignore(library, library.home.name() + ": " + fault);
    return std::nullopt;
  }
  for (RegisteredImage& image : contents.images)
    if (!find_owners(library, contents, image))
      return std::nullopt;
  return contents;
}

void Registry::ignore(const Library& library, const std::string& ignored) {
  {
    const std::lock_guard lock(mutex_);
    if (library.removed || library.number <= examined_up_to_)
      return;
    if (ignored_.empty())
      ignored_ = ignored;
    examined_up_to_ = library.number;
  }
  say("the runtime ignores the images of %s", ignored.c_str());
}

// Of threads that have examined the library, the first takes it in.
void Registry::take_in(const std::shared_ptr<Library>& library, LibraryContents contents) {
  const char* const remark = contents.remark;
  {
    const std::lock_guard resolving(resolving_);
    if (!is_pending(*library))
      return;
    for (const RegisteredImage& image : contents.images)
      for (Rtl* const rtl : image.rtls)
        number_devices(*rtl);
    enlist(library, std::move(contents));
  }
  if (remark)
    say("%s %s", library->home.name().c_str(), remark);
}

// Notes all plugins that accept the image (decision 34), or what each has against it, as far as they say. Of an image
// for another CPU that is the reason, whatever each plugin says. Returns false if the library is unregistered
// meanwhile.
bool Registry::find_owners(const Library& library, const LibraryContents& contents, RegisteredImage& image) {
  std::vector<char> bytes;
  __tgt_device_image raw = contents.raw(image);
  if (!library.copy_if_unloadable(raw, bytes, reading_))
    return false;
  for (const std::unique_ptr<Rtl>& rtl : rtls_) {
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

void Registry::number_devices(Rtl& rtl) {
  if (!numbered_.insert(&rtl).second)
    return;
  const int known = device_count_;
  const int count = std::min(rtl.device_count(), static_cast<int>(kMostDevices) - known);
  for (int i = 0; i < count; ++i)
    devices_[static_cast<std::size_t>(known + i)].store(new Device(known + i, rtl, i), std::memory_order_release);
  device_count_.store(known + count, std::memory_order_release);
  observe::host_number = known + count;
}

void Registry::enlist(const std::shared_ptr<Library>& library, LibraryContents contents) {
  const std::lock_guard lock(mutex_);
  if (library->removed)
    return;
  static_cast<LibraryContents&>(*library) = std::move(contents);
  examined_up_to_ = library->number;
  kernels_.add(library);
  for (std::size_t i = 0; i < library->table.entries.size(); ++i)
    if (const HostEntry& entry = library->table.entries[i]; is_variable(entry))
      variables_.emplace(reinterpret_cast<std::uintptr_t>(entry.address), LibraryEntry{library, i});
  generation_.fetch_add(1, std::memory_order_release);
}

std::string Registry::failed_plugin() const {
  if (!rtls_found_.load(std::memory_order_acquire))
    return {};
  for (const std::unique_ptr<Rtl>& rtl : rtls_)
    if (rtl->has_failed())
      return "plugin " + rtl->name() + " was refused: " + rtl->refusal();
  return {};
}

std::string Registry::reason_for_none() {
  if (Busy::is_with(this))
    return "there is no device yet: a plugin makes this call while the runtime asks it for its devices";
  const std::string none = "there is no device: ";
  if (!rtls_found_.load(std::memory_order_acquire) || rtls_.empty()) // the list stays as it was found
    return none + why_no_plugin();
  std::string names, refusals;
  for (const std::unique_ptr<Rtl>& rtl : rtls_) {
    if (!rtl->refusal().empty())
      return none + "plugin " + rtl->name() + " was refused: " + rtl->refusal();
    names += (names.empty() ? "" : ", ") + rtl->name();
  }
  const bool over = is_over();
  const std::shared_lock lock(mutex_);
  for (const auto& [number, library] : libraries_)
    for (const RegisteredImage& image : library->images) {
      if (!image.rtls.empty())
        return none + why_none_of(image.rtls);
      if (refusals.empty() && !image.refusals.empty())
        refusals = ": " + image.refusals;
    }
  if (over)
    return none + "every library has unregistered its images";
  if (!ignored_.empty())
    return none + "the runtime ignores the images of " + ignored_;
  return none + "no plugin (" + names + ") accepts an image of this program" + refusals;
}

} // namespace omptool
