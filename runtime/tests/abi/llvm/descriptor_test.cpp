// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests LLVM's records, byte by byte: their sizes and contents.
#include "abi/llvm/descriptor.h"

#include <cstring>
#include <doctest/doctest.h>
#include <vector>

using namespace omptool;
using omptool::llvm::record_size;

namespace {

template <typename T> void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// `count` records of LLVM 20 and later.
std::vector<std::byte> records_56(std::size_t count) {
  std::vector<std::byte> bytes(count * 56);
  for (std::size_t at = 0; at < bytes.size(); at += 56) {
    put<std::uint16_t>(bytes, at + 8, 1);
    put<std::uint16_t>(bytes, at + 10, 1);
    put<std::uint64_t>(bytes, at + 16, 0x5000 + at);
    put<std::uint64_t>(bytes, at + 24, 0x6000 + at);
  }
  return bytes;
}

// Returns records of 32 bytes, as LLVM 19 and earlier write them.
std::vector<std::byte> records_32(std::size_t count) {
  std::vector<std::byte> bytes(count * 32);
  for (std::size_t at = 0; at < bytes.size(); at += 32) {
    put<std::uint64_t>(bytes, at, 0x5000 + at);
    put<std::uint64_t>(bytes, at + 8, 0x6000 + at);
  }
  return bytes;
}

} // namespace

TEST_CASE("records have 56 bytes if every one of them looks so") {
  for (std::size_t count = 1; count <= 16; ++count) {
    CHECK(record_size(records_56(count)) == 56);
    CHECK(record_size(records_32(count)) == 32);
  }
  CHECK(record_size({}) == 32);
  CHECK(record_size(std::vector<std::byte>(33)) == 0);
  std::vector<std::byte> table = records_56(4); // 224 bytes: either size divides it
  put<std::uint16_t>(table, 3 * 56 + 10, 5);    // no kind has this number
  CHECK(record_size(table) == 32);
  table = records_56(4);
  put<std::uint32_t>(table, 2 * 56 + 12, 0x100);
  CHECK(record_size(table) == 32);
  table = records_32(7); // a requires record comes first: address 0
  put<std::uint64_t>(table, 0, 0);
  put<std::uint32_t>(table, 24, 0x10);
  CHECK(record_size(table) == 32);
}

TEST_CASE("requirements, kinds and sizes are read from the entries") {
  static char names[5][32] = {"kernel", "global", "link", "function", "construct"};
  static char places[5];
  std::vector<std::byte> table(5 * 56);
  const std::uint32_t flags[] = {0, 0, 1, 8, 2};
  const std::uint64_t sizes[] = {0, 16, 8, 24, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    put<std::uint16_t>(table, i * 56 + 8, 1);
    put<std::uint16_t>(table, i * 56 + 10, 1);
    put<std::uint32_t>(table, i * 56 + 12, flags[i]);
    put<void*>(table, i * 56 + 16, &places[i]);
    put<const char*>(table, i * 56 + 24, names[i]);
    put<std::uint64_t>(table, i * 56 + 32, sizes[i]);
  }
  const std::byte* const record[4] = {nullptr, nullptr, table.data(), table.data() + table.size()};
  LibraryContents contents;
  REQUIRE(llvm::read_library(record, contents).empty());
  const EntryKind kinds[] = {EntryKind::kKernel, EntryKind::kGlobal, EntryKind::kOwnPointer, EntryKind::kIndirect,
                             EntryKind::kConstructor};
  REQUIRE(contents.table.entries.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(contents.table.entries[i].kind == kinds[i]);
    CHECK(contents.table.entries[i].address == &places[i]);
    CHECK(std::strcmp(contents.table.records[i].name, names[i]) == 0);
  }
  CHECK(contents.table.records[3].size == 8); // the device's pointer
  CHECK(contents.table.entries[3].extent == 24);
  CHECK(contents.globals_required);
  CHECK(!contents.host_memory);
}

TEST_CASE("entries of a version that is not known are not read") {
  for (const std::size_t size : {56U, 72U}) { // as long as they may be
    std::vector<std::byte> table(4 * size);
    for (std::size_t at = 0; at < table.size(); at += size) {
      put<std::uint16_t>(table, at + 8, 2);
      put<std::uint16_t>(table, at + 10, 1);
      put<const char*>(table, at + 24, "kernel");
    }
    const std::byte* const record[4] = {nullptr, nullptr, table.data(), table.data() + table.size()};
    LibraryContents contents;
    const std::string fault = llvm::read_library(record, contents);
    CHECK(fault == "entries of version 2 are unknown");
    CHECK(static_cast<bool>(contents.explain));
    CHECK(contents.table.entries.empty());
  }
}
