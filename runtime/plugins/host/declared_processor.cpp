// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "declared_processor.h"

#include "bytes_before.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace omptool::host {
namespace {

constexpr std::size_t kAligned = 8;
constexpr std::uint64_t kMostStrings = 64;

// Header of LLVM's OffloadBinary. Versions 1 to 3 differ in the last field and in the string records.
struct Header {
  std::uint32_t magic, version;
  std::uint64_t size, entries, entry_size;
};
constexpr std::uint32_t kMagic = 0xad10ff10, kFirstWithSizes = 2, kNewest = 3;

struct ImageEntry {
  std::uint16_t image_kind, offload_kind;
  std::uint32_t flags;
  std::uint64_t strings, string_count, image, image_size;
};

std::string_view string_in(Bytes bytes, std::uint64_t at) {
  if (at >= bytes.size())
    return {};
  const char* const text = reinterpret_cast<const char*>(bytes.data() + at);
  const std::size_t most = bytes.size() - at, length = ::strnlen(text, most);
  return length < most ? std::string_view(text, length) : std::string_view();
}

std::string value_of(Bytes header, std::uint32_t version, const ImageEntry& entry, std::string_view key) {
  struct String {
    std::uint64_t key, value;
  };
  const std::uint64_t record = version < kFirstWithSizes ? sizeof(String) : sizeof(String) + sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < std::min(entry.string_count, kMostStrings) && entry.strings < header.size(); ++i)
    if (const auto pair = read<String>(header, entry.strings + i * record); pair && string_in(header, pair->key) == key)
      return std::string(string_in(header, pair->value));
  return {};
}

// Returns the first entry whose image begins where the header ends.
std::optional<ImageEntry> entry_of(Bytes header, const Header& start, std::size_t size) {
  const std::uint64_t count = start.version < kFirstWithSizes ? 1 : std::min(start.entry_size, kMostStrings);
  for (std::uint64_t i = 0; i < count; ++i)
    if (const auto entry = read_nth<ImageEntry>(header, start.entries, i);
        entry && entry->image == header.size() && entry->image_size == size)
      return entry;
  return std::nullopt;
}

} // namespace

std::string processor_in(Bytes before, std::size_t size) {
  for (std::size_t distance = sizeof(Header); distance <= before.size(); distance += kAligned) {
    const Bytes bytes = before.last(distance);
    const Header start = *read<Header>(bytes, 0);
    if (start.magic != kMagic || start.version < 1 || start.version > kNewest)
      continue;
    const std::optional<ImageEntry> entry = entry_of(bytes, start, size);
    if (!entry)
      continue;
    const std::string arch = value_of(bytes, start.version, *entry, "arch");
    const std::string features = value_of(bytes, start.version, *entry, "feature");
    const char* const joint = arch.empty() ? "features " : " with features ";
    return features.empty() ? arch : arch + joint + features;
  }
  return {};
}

std::string declared_processor(Bytes image) {
  return processor_in(bytes_before(image.data()), image.size());
}

} // namespace omptool::host
