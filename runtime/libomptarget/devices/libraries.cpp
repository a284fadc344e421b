// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/libraries.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace omptool {

void Libraries::add(const void* descriptor, LibraryReader read, LoadedObject home) {
  const std::lock_guard lock(mutex_);
  if (home.object.size() > 0)
    objects_.insert_or_assign(home.object.begin, home.object.end);
  const auto library = std::make_shared<Library>(++last_number_, read, std::move(home));
  registered_.emplace(descriptor, library);
  libraries_.emplace(library->number, library);
  any_pending_ = true;
}

std::shared_ptr<Library> Libraries::remove(const void* descriptor) {
  const std::lock_guard lock(mutex_);
  const auto at = registered_.find(descriptor);
  if (at == registered_.end())
    return nullptr;
  const std::shared_ptr<Library> gone = at->second;
  registered_.erase(at);
  libraries_.erase(gone->number);
  gone->removed = true;
  const bool is_examined = gone->number <= examined_up_to_;
  if (is_examined) {
    kernels_.remove(gone);
    for (const HostEntry& entry : gone->table.entries) {
      const auto [first, last] = variables_.equal_range(reinterpret_cast<std::uintptr_t>(entry.address));
      const auto own = std::find_if(first, last, [&](const auto& one) { return one.second.library == gone; });
      if (own != last)
        variables_.erase(own);
    }
  }
  LibraryContents contents; // of a library that nobody has read, or that another thread is reading
  const auto table = [&]() -> const EntryTable& {
    if (is_examined)
      return gone->table;
    if (!gone->read(descriptor, contents).empty())
      contents = {};
    return contents.table;
  };
  deferred_.forget(gone->home.object, table, [&](const void* address) { return kernels_.find(address) != nullptr; });
  return gone;
}

bool Libraries::has_known(const void* address) {
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock lock(mutex_);
  const auto after = objects_.upper_bound(place);
  return after != objects_.begin() && place < std::prev(after)->second;
}

bool Libraries::is_last(const void* descriptor) {
  const std::shared_lock lock(mutex_);
  return libraries_.size() == 1 && libraries_.contains(examined_up_to_) &&
         libraries_.begin()->second->home.descriptor == descriptor;
}

bool Libraries::is_over() {
  const std::shared_lock lock(mutex_);
  return last_number_ != 0 && libraries_.empty();
}

std::shared_ptr<Library> Libraries::next_pending() {
  const std::lock_guard lock(mutex_);
  const auto first = libraries_.upper_bound(examined_up_to_);
  any_pending_ = first != libraries_.end();
  return any_pending_ ? first->second : nullptr;
}

bool Libraries::is_pending(const Library& library) {
  const std::shared_lock lock(mutex_);
  return !library.removed && library.number > examined_up_to_;
}

bool Libraries::ignore(const Library& library, const std::string& fault) {
  const std::lock_guard lock(mutex_);
  if (library.removed || library.number <= examined_up_to_)
    return false;
  if (ignored_.empty())
    ignored_ = fault;
  examined_up_to_ = library.number;
  return true;
}

std::string Libraries::ignored() {
  const std::shared_lock lock(mutex_);
  return ignored_;
}

void Libraries::enlist(const std::shared_ptr<Library>& library, LibraryContents contents) {
  const std::lock_guard lock(mutex_);
  if (library->removed)
    return;
  static_cast<LibraryContents&>(*library) = std::move(contents);
  examined_up_to_ = library->number;
  kernels_.add(library);
  for (std::size_t i = 0; i < library->table.entries.size(); ++i)
    if (const HostEntry& entry = library->table.entries[i]; is_variable(entry))
      variables_.emplace(reinterpret_cast<std::uintptr_t>(entry.address), LibraryEntry{library, i});
  note_change();
}

std::shared_ptr<Library> Libraries::next_to_load(Device& device) {
  const std::lock_guard lock(mutex_);
  auto next = libraries_.upper_bound(device.loaded_up_to);
  for (; next != libraries_.end() && next->second->is_on(device.number); ++next)
    device.loaded_up_to = next->first;
  return next == libraries_.end() || next->first > examined_up_to_ ? nullptr : next->second;
}

std::map<std::uintptr_t, std::pair<std::shared_ptr<LoadedImage>, std::size_t>> Libraries::images_with(HostRange range,
                                                                                                      int device) {
  std::map<std::uintptr_t, std::pair<std::shared_ptr<LoadedImage>, std::size_t>> found;
  const std::shared_lock lock(mutex_);
  const auto end = variables_.lower_bound(range.end);
  for (auto at = variables_.lower_bound(range.begin); at != end; ++at) {
    const auto& [address, entry] = *at;
    entry.library->on(device, [&, index = entry.index, at_address = address](const Library::OnDevice& there) {
      for (const std::shared_ptr<LoadedImage>& image : there.images)
        if (image->addresses[index])
          found.try_emplace(at_address, image, index);
    });
  }
  return found;
}

} // namespace omptool
