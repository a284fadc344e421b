// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table in a file that its reader, omptool, has made. All processes of a program map it, so that it is whole however
// each of them ends; a record is filled in once and then counted up, without a lock that a child of fork() could miss.
// A signal handler may use it, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace omptool::observe {

struct SharedHeader {
  char magic[8]; // names the kind of records
  std::uint32_t records;
  std::uint32_t record_size;
  std::atomic<std::uint32_t> used; // the number of the next record
  std::atomic<std::uint32_t> lost; // items without a free record
  std::uint32_t options;
  std::atomic<std::uint32_t> processes; // that have mapped it
  char reserved[32];
};
static_assert(sizeof(SharedHeader) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

// Returns the file in memory; null, and why, if it is no table with that magic and such records.
SharedHeader* map_shared(const char* magic, std::uint32_t record_size, const char* path, std::string& why);

// Returns a number that stands for the texts, not 0 (FNV-1a).
std::uint64_t key_of(std::initializer_list<std::string_view> texts);

template <std::size_t size> void set_text(char (&place)[size], std::string_view text) {
  text.copy(place, size - 1); // the rest of the file is zeros
}

// Shared table of records. Each record begins with its key (0: the record is free) and has a number: 1 for the first;
// 0: the record is not filled in.
template <typename Record> class SharedTable {
public:
  explicit SharedTable(SharedHeader& header) : header_(&header), records_(reinterpret_cast<Record*>(&header + 1)) {}

  // Finds or adds the record of a key; `fill` fills in a new one. Returns null if the table is full.
  template <typename Fill> Record* record_of(std::uint64_t key, const Fill& fill) const {
    for (std::uint32_t i = 0; i < header_->records; ++i) {
      Record& record = records_[(key + i) % header_->records];
      std::uint64_t there = 0;
      if (record.key.compare_exchange_strong(there, key)) {
        fill(record);
        record.number.store(++header_->used, std::memory_order_release);
        return &record;
      }
      if (there == key)
        return &record;
    }
    ++header_->lost;
    return nullptr;
  }
  std::uint32_t options() const { return header_->options; }

private:
  SharedHeader* header_;
  Record* records_;
};

} // namespace omptool::observe
