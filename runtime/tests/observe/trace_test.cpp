// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/format.h"
#include "trace/rank.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <string>

using namespace omptool::trace;

namespace {

Record operation(std::uint64_t began, std::uint64_t ended, std::uint64_t queue) {
  Record record;
  record.began = began;
  record.ended = ended;
  record.place = queue;
  record.thread = 1;
  record.device = 0;
  record.kind = Kind::kLaunch;
  return record;
}

} // namespace

TEST_CASE("what overlaps on queues has lanes of its own, and lanes are used again") {
  Lanes lanes;
  const std::uint64_t first = lanes.of(operation(10, 20, 7)).number;
  CHECK(first == Lane::kFirstQueue);
  CHECK(lanes.of(operation(15, 30, 8)).number == first + 1);
  CHECK(lanes.of(operation(20, 25, 9)).number == first);
  CHECK(lanes.of(operation(28, 40, 7)).number == first);
  CHECK(lanes.of(operation(28, 40, 7)).number == first + 2); // both are busy
}

TEST_CASE("a lane is new once, and each device has lanes of its own") {
  Lanes lanes;
  Record there = operation(10, 20, 0);
  CHECK(lanes.of(there).is_new);
  CHECK(!lanes.of(there).is_new);
  there.device = 1;
  const Lane other = lanes.of(there);
  CHECK(other.is_new);
  CHECK(other.process == 3);
  there.kind = Kind::kWait; // a host thread waits
  CHECK(lanes.of(there).process == 1);
}

TEST_CASE("an image is compiled and loaded on its device's lanes") {
  Lanes lanes;
  for (const Kind kind : {Kind::kCompile, Kind::kLoad}) {
    Record there = operation(10, 20, 0);
    there.kind = kind;
    CHECK(lanes.of(there).process == 2);
  }
}

TEST_CASE("a process of an MPI job tells its rank") {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    ::unsetenv(name);
  CHECK(rank_of_process() == "");
  const std::string process = "process " + std::to_string(::getpid());
  CHECK(name_of_host() == "host, " + process);
  ::setenv("SLURM_PROCID", "0", 1); // of one task, which is another launcher
  ::setenv("PMI_RANK", "3", 1);
  CHECK(name_of_host() == "host, rank 3, " + process);
  ::setenv("PMIX_RANK", "../3", 1);
  CHECK(rank_of_process() == "3");
  for (const char* const name : {"PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    ::unsetenv(name);
}

TEST_CASE("names are numbered once") {
  Names names;
  NameCache cache;
  CHECK(names.number("") == 0);
  const std::uint32_t number = cache.number(names, "kernel");
  CHECK(cache.number(names, "kernel") == number);
  CHECK(names.number("kernel") == number);
  CHECK(names.text(number) == "kernel");
  CHECK(cache.number(names, "lernek") != number); // of the same size, in another place or this
}

TEST_CASE("names that are no text stay within their string") {
  Names names;
  Record record = operation(1500, 3500, 0);
  record.name = names.number("</script>\"\\\n\xff\xc3\xb6");
  std::string text;
  json_format(names, 1000)->add(record, text);
  CHECK(text.find("\\u003c/script>\\u0022\\u005c\\u000a\\ufffd\xc3\xb6\"") != std::string::npos);
  CHECK(text.find("\"ts\":0.500,\"dur\":2,") != std::string::npos);
}

TEST_CASE("a region names its entry, and what failed says so") {
  Names names;
  Record region = operation(1000, 2000, 0);
  region.kind = Kind::kRegion;
  region.name = names.number("kernel");
  region.failed = true;
  std::string text;
  json_format(names, 0)->add(region, text);
  CHECK(text.find(R"("name":"target","args":{"failed":1,"device":0,"entry":"kernel"}})") != std::string::npos);
  text.clear();
  const auto format = perfetto_format(names, 0);
  format->add(region, text);
  CHECK(text.find("kernel") != std::string::npos);
  text.clear();
  format->add(region, text);
  CHECK(text.find("kernel") == std::string::npos); // the file has it
}

TEST_CASE("a packet of Perfetto's has its length in front") {
  Names names;
  std::string text;
  const auto format = perfetto_format(names, 0);
  format->begin(text);
  format->add(operation(1, 2, 0), text);
  std::size_t at = 0, packets = 0;
  for (; at < text.size(); ++packets) {
    REQUIRE(text[at] == '\x0a');
    std::size_t size = 0;
    unsigned shift = 0;
    do
      size |= static_cast<std::size_t>(text[++at] & 0x7f) << shift;
    while (shift += 7, text[at] & 0x80);
    at += 1 + size;
  }
  CHECK(at == text.size());
  CHECK(packets == 5); // names, the host, a lane, begin and end
}
