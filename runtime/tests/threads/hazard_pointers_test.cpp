// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks step by step that what one thread publishes is kept while another thread retires it; and with threads that
// search while others replace.
#include "threads/hazard_pointers.h"

#include <atomic>
#include <doctest/doctest.h>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace omptool;

TEST_CASE("a record that was found in a retired index outlives the index") {
  struct Index {
    std::shared_ptr<int> record;
  };
  auto record = std::make_shared<int>(1);
  auto index = std::make_shared<const Index>(Index{record});
  const std::weak_ptr<int> watched_record = record;
  const std::weak_ptr<const Index> watched_index = index;
  const void* const address = record.get();
  Retired retired;
  HazardPointer& mine = my_hazard_pointer();

  mine.index = index.get(); // a launch begins to search
  retired.add(std::move(index));
  retired.add(std::move(record));
  retired.collect();
  CHECK_FALSE(watched_index.expired());
  REQUIRE_FALSE(watched_record.expired());

  mine.record = address; // it has found the record
  mine.index = nullptr;
  retired.collect(); // on another thread
  CHECK(watched_index.expired());
  CHECK_FALSE(watched_record.expired());

  mine.record = nullptr;
  retired.collect();
  CHECK(watched_record.expired());
  CHECK_FALSE(retired.any());
}

TEST_CASE("a retired index takes the records that only it had with it") {
  struct Index {
    std::shared_ptr<int> record;
  };
  auto record = std::make_shared<int>(1);
  auto index = std::make_shared<const Index>(Index{record});
  const std::weak_ptr<int> watched = record;
  Retired retired;
  retired.add(std::move(index));
  retired.add(std::move(record));
  retired.collect();
  CHECK(watched.expired());
  CHECK_FALSE(retired.any());
}

TEST_CASE("what is replaced while threads read it is freed when they have") {
  struct Item {
    ~Item() { value = -1; }
    int value;
  };
  constexpr int kReplaced = 2000;
  request_barriers();
  auto current = std::make_shared<Item>(Item{0});
  std::atomic<const Item*> published{current.get()};
  std::atomic<int> wrong{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      HazardPointer& mine = my_hazard_pointer();
      while (!over.load(std::memory_order_relaxed)) {
        const Item* item = nullptr;
        do {
          item = published.load(std::memory_order_acquire);
          mine.index.store(item, std::memory_order_release);
          light_barrier();
        } while (published.load(std::memory_order_acquire) != item);
        wrong += item->value < 0;
      }
      mine.index.store(nullptr, std::memory_order_release);
    });
  Retired retired;
  for (int i = 1; i <= kReplaced; ++i) {
    auto next = std::make_shared<Item>(Item{i});
    published.store(next.get(), std::memory_order_release);
    retired.add(std::exchange(current, std::move(next)));
    retired.collect();
  }
  over = true;
  for (std::thread& reader : readers)
    reader.join();
  retired.collect();
  CHECK(wrong == 0);
  CHECK_FALSE(retired.any());
}
