// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks step by step that what one thread publishes is kept while another thread retires it.
#include "threads/hazard_pointers.h"

#include <doctest/doctest.h>
#include <memory>

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
