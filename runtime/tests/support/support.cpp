// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace host {
int counter = 1;
void* seen[24];
int order[16];
int order_length;
char record, record1, record7, record20, add_one, add_one_by, add_ten, add_ten_later, add_second, call_host, count_up,
    meet, add_both, times_plus, add_counter, nothing, list_add_one, example, construct, team_square, hidden,
    other_add_hundred, absent;
} // namespace host

Rows::Rows(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    base_.push_back(row.base);
    begin_.push_back(row.begin);
    size_.push_back(row.size);
    type_.push_back(row.type);
  }
}

std::int32_t Rows::region(void* host, std::int32_t device) {
  return __tgt_target(device, host, count(), base_.data(), begin_.data(), size_.data(), type_.data());
}
std::int32_t Rows::teams(void* host, std::int32_t num_teams, std::int32_t thread_limit, std::int32_t device) {
  return __tgt_target_teams(device, host, count(), base_.data(), begin_.data(), size_.data(), type_.data(), num_teams,
                            thread_limit);
}
void Rows::begin(std::int32_t device) {
  __tgt_target_data_begin(device, count(), base_.data(), begin_.data(), size_.data(), type_.data());
}
void Rows::end(std::int32_t device) {
  __tgt_target_data_end(device, count(), base_.data(), begin_.data(), size_.data(), type_.data());
}
void Rows::update(std::int32_t device) {
  __tgt_target_data_update(device, count(), base_.data(), begin_.data(), size_.data(), type_.data());
}

bool over_queues() {
  const char* const asked = std::getenv("OMPTOOL_HOST_QUEUES");
  return asked && std::strcmp(asked, "1") == 0;
}

tgt_event_t Rows::region_later(void* host, const std::vector<tgt_event_t>& after, std::int32_t device,
                               tgt_callback_param_t param, std::int32_t* result) {
  tgt_event_t event = nullptr;
  const std::int32_t returned = __tgt_target_async(device, host, count(), base_.data(), begin_.data(), size_.data(),
                                                   type_.data(), static_cast<std::int32_t>(after.size()),
                                                   const_cast<tgt_event_t*>(after.data()), &event, param);
  if (result)
    *result = returned;
  else if (returned != 0)
    std::fprintf(stderr, "an asynchronous region did not run\n");
  return event;
}
tgt_event_t Rows::later(DataCall call, const std::vector<tgt_event_t>& after, std::int32_t device,
                        tgt_callback_param_t param) {
  tgt_event_t event = nullptr;
  call(device, count(), base_.data(), begin_.data(), size_.data(), type_.data(),
       static_cast<std::int32_t>(after.size()), const_cast<tgt_event_t*>(after.data()), &event, param);
  return event;
}
tgt_event_t Rows::begin_later(const std::vector<tgt_event_t>& after, std::int32_t device, tgt_callback_param_t param) {
  return later(__tgt_target_async_data_begin, after, device, param);
}
tgt_event_t Rows::end_later(const std::vector<tgt_event_t>& after, std::int32_t device, tgt_callback_param_t param) {
  return later(__tgt_target_async_data_end, after, device, param);
}
tgt_event_t Rows::update_later(const std::vector<tgt_event_t>& after, std::int32_t device, tgt_callback_param_t param) {
  return later(__tgt_target_async_data_update, after, device, param);
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s cannot be read\n", path.c_str());
    std::abort();
  }
  // Reads all bytes at once: byte by byte, in code that is not optimised, used a fifth of the time of all sanitized
  // tests.
  std::vector<char> bytes(std::filesystem::file_size(path));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}
std::vector<char> image_file(const std::string& name) {
  return read_file(std::string(TEST_FOLDER "/image_") + name + ".so");
}

Program::Program(std::vector<std::vector<char>> images, const std::vector<Entry>& entries)
    : images_(std::move(images)) {
  for (const Entry& entry : entries)
    entries_.push_back({entry.address, const_cast<char*>(entry.name), entry.size});
  __tgt_offload_entry* const first = entries_.data();
  __tgt_offload_entry* const last = first + entries_.size();
  for (std::vector<char>& image : images_)
    records_.push_back({image.data(), image.data() + image.size(), first, last});
  descriptor = {static_cast<std::uint32_t>(records_.size()), records_.data(), first, last};
  __tgt_register_lib(&descriptor);
}

std::vector<Program::Entry> main_entries() {
  using namespace host;
  return {{&record, "record"},
          {&record1, "record1"},
          {&record7, "record7"},
          {&record20, "record20"},
          {&counter, "counter", sizeof counter},
          {&seen, "seen", sizeof seen},
          {&order, "order", sizeof order},
          {&order_length, "order_length", sizeof order_length},
          {&add_one, "add_one"},
          {&add_one_by, "add_one_by"},
          {&add_ten, "add_ten"},
          {&add_ten_later, "add_ten_later"},
          {&add_second, "add_second"},
          {&call_host, "call_host"},
          {&count_up, "count_up"},
          {&meet, "meet"},
          {&add_both, "add_both"},
          {&times_plus, "times_plus"},
          {&add_counter, "add_counter"},
          {&nothing, "nothing"},
          {&list_add_one, "list_add_one"},
          {&example, "example"},
          {&construct, "construct"},
          {&team_square, "team_square"},
          {&hidden, "hidden"},
          {&absent, "absent"}};
}

void use_main() {
  static Program& program = *new Program({image_file("main")}, main_entries());
  static_cast<void>(program);
}
