// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/offload_binary.h"

#include "abi/llvm/compilers.h"
#include "devices/library_contents.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace omptool::llvm {
namespace {

struct Header {
  std::uint32_t magic, version;
  std::uint64_t size, entries;
  std::uint64_t entry_size; // version 1; later ones count the entries here
};

struct ImageEntry {
  std::uint16_t image_kind, offload_kind;
  std::uint32_t flags;
  std::uint64_t string_offset, string_count, image_offset, image_size;
};

// Images follow each other, and need not be aligned; that two share bytes is a damage.
bool overlap(std::vector<Bytes> images) {
  std::erase_if(images, [](Bytes image) { return image.empty(); });
  std::sort(images.begin(), images.end(), [](Bytes a, Bytes b) { return a.data() < b.data(); });
  return std::adjacent_find(images.begin(), images.end(),
                            [](Bytes a, Bytes b) { return a.data() + a.size() > b.data(); }) != images.end();
}

} // namespace

bool is_wrapped(Bytes bytes) {
  constexpr std::array<unsigned char, 4> kMagic{0x10, 0xff, 0x10, 0xad};
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

std::string unwrap(Bytes bytes, std::vector<Bytes>& images) {
  if (!is_wrapped(bytes)) {
    images.push_back(bytes);
    return {};
  }
  const std::optional<Header> header = read<Header>(bytes, 0);
  if (!header || header->version == 0)
    return "an image's OffloadBinary is damaged: its header";
  if (header->version > kNewestGeneration.container_version)
    return of_newer_compiler("OffloadBinary " + std::to_string(header->version) + " is unknown", bytes.data());
  const bool has_one = header->version == 1;
  const std::uint64_t count = has_one ? 1 : header->entry_size;
  if (header->size > bytes.size() || (has_one && header->entry_size < sizeof(ImageEntry)) || count > kMostImages)
    return "an image's OffloadBinary is damaged: its header";
  const Bytes blob = bytes.first(header->size);
  std::vector<Bytes> inside;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::optional<ImageEntry> entry = read_nth<ImageEntry>(blob, header->entries, i);
    if (!entry)
      return "an image's OffloadBinary is damaged: its entries run past the end";
    if (entry->image_offset > blob.size() || entry->image_size > blob.size() - entry->image_offset)
      return "an image's OffloadBinary is damaged: an image runs past the end";
    inside.push_back(blob.subspan(entry->image_offset, entry->image_size));
  }
  if (overlap(inside))
    return "an image's OffloadBinary is damaged: two images overlap";
  images.insert(images.end(), inside.begin(), inside.end());
  return {};
}

} // namespace omptool::llvm
