// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header of LLVM's container in front of an image is whatever precedes it in memory: a sound one names the
// processor, and any other bytes name none.
#include "declared_processor.h"

#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <vector>

using omptool::host::declared_processor;
using omptool::host::processor_in;

namespace {

constexpr std::size_t kImage = 64;

template <typename T> void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// A container's header with two strings, up to its image.
std::vector<std::byte> header(std::string_view arch, std::string_view feature, std::uint32_t version = 1) {
  constexpr std::size_t kStart = 32, kEntry = 40, kNames = 200;
  const std::size_t entries = version > 2 ? kStart + 8 : kStart, strings = entries + kEntry;
  std::vector<std::byte> bytes(256);
  std::memcpy(bytes.data(), "\x10\xff\x10\xad", 4);
  put<std::uint32_t>(bytes, 4, version);
  put<std::uint64_t>(bytes, 8, bytes.size() + kImage);
  put<std::uint64_t>(bytes, 16, entries);
  put<std::uint64_t>(bytes, 24, version == 1 ? kEntry : 1);
  const std::uint64_t fields[] = {strings, 2, bytes.size(), kImage};
  std::memcpy(bytes.data() + entries + 8, fields, sizeof fields);
  std::memcpy(bytes.data() + kNames, "arch\0feature", 13);
  std::memcpy(bytes.data() + kNames + 16, arch.data(), arch.size());
  std::memcpy(bytes.data() + kNames + 32, feature.data(), feature.size());
  const std::size_t record = version > 1 ? 24 : 16;
  put<std::uint64_t>(bytes, strings, kNames);
  put<std::uint64_t>(bytes, strings + 8, kNames + 16);
  put<std::uint64_t>(bytes, strings + record, kNames + 5);
  put<std::uint64_t>(bytes, strings + record + 8, kNames + 32);
  return bytes;
}

} // namespace

TEST_CASE("the container of an image names its processor") {
  for (const std::uint32_t version : {1u, 2u, 3u}) {
    CHECK(processor_in(header("bdver4", "", version), kImage) == "bdver4");
    CHECK(processor_in(header("bdver4", "+avx2", version), kImage) == "bdver4 with features +avx2");
    CHECK(processor_in(header("", "+avx2", version), kImage) == "features +avx2");
    CHECK(processor_in(header("", "", version), kImage) == "");
  }
  CHECK(processor_in(header("bdver4", "", 4), kImage) == "");
  CHECK(processor_in(header("bdver4", ""), kImage + 1) == ""); // of another image
  CHECK(processor_in({}, kImage) == "");
}

TEST_CASE("bytes in front of an image that are no sound header name no processor") {
  const std::vector<std::byte> sound = header("bdver4", "+avx2");
  for (std::size_t at = 0; at < sound.size(); ++at)
    for (const int value : {0x00, 0x7f, 0xff}) {
      std::vector<std::byte> bytes = sound;
      bytes[at] = static_cast<std::byte>(value);
      processor_in(std::vector<std::byte>(bytes), kImage); // AddressSanitizer watches
    }
}

TEST_CASE("an image at the beginning of what is mapped has no header") {
  constexpr std::size_t kPage = 4096;
  auto* const pages =
      static_cast<std::byte*>(::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  const std::vector<std::byte> bytes = header("bdver4", "");
  std::memcpy(pages + kPage - 64, bytes.data(), bytes.size());
  CHECK(declared_processor({pages + kPage - 64 + bytes.size(), kImage}) == "bdver4"); // across two pages
  REQUIRE(::munmap(pages, kPage) == 0);
  CHECK(declared_processor({pages + kPage, kImage}) == "");
  CHECK(declared_processor({pages + kPage + 192, kImage}) == "");
  ::munmap(pages + kPage, kPage);
}
