// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OffloadBinaries of both versions, and such as lie about their sizes.
#include "abi/llvm/descriptor.h"

#include <algorithm>
#include <cstring>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <vector>

using namespace omptool;

namespace {

constexpr std::size_t kEntries = 32, kEntry = 40;

template <typename T> void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Returns a binary with images of these sizes, adjacent and without strings.
std::vector<std::byte> binary(std::uint32_t version, const std::vector<std::size_t>& sizes) {
  std::size_t image = kEntries + kEntry * sizes.size() + 8;
  std::vector<std::byte> bytes(image);
  std::memcpy(bytes.data(), "\x10\xff\x10\xad", 4);
  put<std::uint32_t>(bytes, 4, version);
  put<std::uint64_t>(bytes, 16, kEntries);
  put<std::uint64_t>(bytes, 24, version == 1 ? kEntry : sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t entry = kEntries + kEntry * i;
    put<std::uint16_t>(bytes, entry, 1);
    put<std::uint64_t>(bytes, entry + 24, image);
    put<std::uint64_t>(bytes, entry + 32, sizes[i]);
    image += sizes[i];
  }
  bytes.resize(image);
  put<std::uint64_t>(bytes, 8, bytes.size());
  return bytes;
}

struct Inside {
  std::vector<std::size_t> offsets, sizes;
  std::string fault;
  bool is_newer = false;
};

// Reads the bytes from a block of exactly their size.
Inside inside(const std::vector<std::byte>& bytes) {
  const auto exact = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  std::vector<Bytes> images;
  Inside found;
  found.fault = llvm::unwrap({exact.get(), bytes.size()}, images, found.is_newer);
  for (const Bytes image : images) {
    CHECK(image.data() >= exact.get());
    CHECK(image.data() + image.size() <= exact.get() + bytes.size());
    found.offsets.push_back(static_cast<std::size_t>(image.data() - exact.get()));
    found.sizes.push_back(image.size());
  }
  CHECK((found.fault.empty() || images.empty()));
  return found;
}

} // namespace

TEST_CASE("an image comes out of its OffloadBinary") {
  for (const std::uint32_t version : {1U, 2U})
    CHECK(inside(binary(version, {100})).sizes == std::vector<std::size_t>{100});
  CHECK(inside(std::vector<std::byte>(10)).sizes == std::vector<std::size_t>{10}); // not one
  CHECK(inside({}).sizes == std::vector<std::size_t>{0});
}

TEST_CASE("an OffloadBinary of version 2 has any number of images, which need not be aligned") {
  CHECK(inside(binary(2, {})).sizes.empty());
  const Inside three = inside(binary(2, {13, 0, 5}));
  CHECK(three.sizes == std::vector<std::size_t>{13, 0, 5});
  CHECK(three.offsets == std::vector<std::size_t>{160, 173, 173});
}

TEST_CASE("an OffloadBinary with one wrong field is refused") {
  const struct {
    std::size_t at;
    std::uint64_t value;
  } faults[] = {{8, 1000}, {8, 40}, {16, 1000}, {16, ~0ULL}, {56, 1000}, {56, ~0ULL}, {64, 101}, {64, ~0ULL}};
  for (const std::uint32_t version : {1U, 2U})
    for (const auto& fault : faults) {
      std::vector<std::byte> bytes = binary(version, {100});
      put(bytes, fault.at, fault.value);
      CHECK_MESSAGE(inside(bytes).fault.starts_with("an image's OffloadBinary is damaged: "), fault.at);
    }
  std::vector<std::byte> bytes = binary(1, {100});
  put<std::uint64_t>(bytes, 24, kEntry - 1); // bytes of an entry
  CHECK(!inside(bytes).fault.empty());
  bytes = binary(2, {100});
  put<std::uint64_t>(bytes, 24, 4); // entries
  CHECK(inside(bytes).fault == "an image's OffloadBinary is damaged: its entries run past the end");
  for (std::size_t size = 4; size < bytes.size(); ++size)
    CHECK(!inside({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}).fault.empty());
}

TEST_CASE("images that share bytes are refused") {
  std::vector<std::byte> bytes = binary(2, {16, 16});
  put<std::uint64_t>(bytes, kEntries + kEntry + 24, 135); // the first ends at 136
  CHECK(inside(bytes).fault == "an image's OffloadBinary is damaged: two images overlap");
}

TEST_CASE("an OffloadBinary of a version that is not known is named") {
  const Inside found = inside(binary(4, {100}));
  CHECK_MESSAGE(found.fault == "OffloadBinary 4 is unknown", found.fault);
  CHECK(found.is_newer);
  CHECK(found.sizes.empty());
}

TEST_CASE("no byte of an OffloadBinary leads out of it") {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = binary(1 + random() % 2, {64, 3, 17});
    for (int flips = 0; flips < 3; ++flips)
      bytes[4 + random() % (kEntries + 3 * kEntry)] = static_cast<std::byte>(random());
    inside(bytes);
  }
}
