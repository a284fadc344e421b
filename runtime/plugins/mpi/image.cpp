// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image.h"

#include "common/calls.h"

#include <algorithm>
#include <string>

namespace omptool::mpi {
namespace {

View bytes_of(const __tgt_device_image& image) {
  return {static_cast<const std::byte*>(image.ImageStart), static_cast<const std::byte*>(image.ImageEnd)};
}

// Checks that entries have names: the core pairs nameless entries by position, and a worker finds entries by name
// alone. Returns false with last_error set.
bool have_names(const __tgt_device_image& image) {
  for (const __tgt_offload_entry* entry = image.EntriesBegin; entry != image.EntriesEnd; ++entry)
    if (!entry->name || !*entry->name) {
      fail("its entries have no names, by which workers find them");
      return false;
    }
  return true;
}

std::vector<Entry> entries_of(const __tgt_device_image& image, const std::int64_t* extents) {
  std::vector<Entry> entries;
  for (const __tgt_offload_entry* entry = image.EntriesBegin; entry != image.EntriesEnd; ++entry)
    entries.push_back({entry->name, reinterpret_cast<std::uint64_t>(entry->addr), entry->size,
                       extents ? extents[entry - image.EntriesBegin] : 0});
  return entries;
}

} // namespace

Image::Image(std::uint64_t number, const __tgt_device_image& image, const std::vector<Loaded>& there)
    : number_(number), entries_(image.EntriesBegin, image.EntriesEnd),
      table_{entries_.data(), entries_.data() + entries_.size()} {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].addr = reinterpret_cast<void*>(there[i].address);
    entries_[i].size = there[i].size;
    if (there[i].takes_shape)
      shaped_.push_back(entries_[i].addr);
  }
}

bool Image::takes_shape(const void* kernel) const {
  return std::find(shaped_.begin(), shaped_.end(), kernel) != shaped_.end();
}

std::unique_ptr<Image> ImageStore::load(std::size_t worker, std::int32_t device, const __tgt_device_image& image,
                                        const std::int64_t* extents) {
  if (!have_names(image))
    return nullptr;
  const View bytes = bytes_of(image);
  compile::Sha256 hash;
  hash.add(bytes);
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = numbers_.try_emplace(hash.finish(), numbers_.size() + 1).first->second;
  if (!sent_.contains({worker, number})) {
    if (queue_.call(worker, {Kind::kImage, 0, 0, number, 0, bytes.size()}, {bytes}) != 0)
      return nullptr;
    sent_.emplace(worker, number);
  }
  const Buffer entries = written(entries_of(image, extents));
  Operation loading{Kind::kLoad, device, 0, ++last_loaded_, number};
  loading.bytes = entries;
  Buffer reply;
  if (queue_.call(worker, loading, {}, &reply) != 0)
    return nullptr;
  const std::vector<Loaded> table = read_table(reply);
  if (table.size() != static_cast<std::size_t>(image.EntriesEnd - image.EntriesBegin))
    throw Malformed("a worker's table has " + std::to_string(table.size()) + " entries");
  return std::make_unique<Image>(loading.target, image, table);
}

} // namespace omptool::mpi
