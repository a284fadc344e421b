// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output/shared_table.h"

#include "file.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace omptool::observe {

constexpr std::uint32_t kMostRecords = 1 << 20;

SharedHeader* map_shared(const char* magic, std::uint32_t record_size, const char* path, std::string& why) {
  const File file(::open(path, O_RDWR | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.number(), &status) != 0) {
    why = std::string("cannot be opened: ") + std::strerror(errno);
    return nullptr;
  }
  SharedHeader header{};
  const std::span<std::byte> room(reinterpret_cast<std::byte*>(&header), sizeof header);
  const bool is_read = S_ISREG(status.st_mode) && file.read(room);
  const std::uint64_t size = sizeof header + std::uint64_t{header.records} * record_size;
  if (!is_read || std::memcmp(header.magic, magic, sizeof header.magic) != 0 || header.record_size != record_size ||
      header.records == 0 || header.records > kMostRecords || static_cast<std::uint64_t>(status.st_size) != size) {
    why = "is no table of this omptool's";
    return nullptr;
  }
  void* const place = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (place == MAP_FAILED) {
    why = std::string("cannot be mapped: ") + std::strerror(errno);
    return nullptr;
  }
  auto* const table = static_cast<SharedHeader*>(place);
  ++table->processes;
  return table;
}

std::uint64_t key_of(std::initializer_list<std::string_view> texts) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string_view text : texts) {
    for (const char byte : text)
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    hash *= 0x100000001b3; // the end of a text counts
  }
  return hash ? hash : 1;
}

} // namespace omptool::observe
