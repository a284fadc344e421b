// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small copies that go in one transfer.
#include "calls.h"
#include "conformance_queues.h"

#include <random>

namespace {

using Names = std::vector<std::string>;

// Objects of a construct, one behind the other.
class Objects {
public:
  explicit Objects(const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) {
      there_.push_back(std::make_unique<Memory>(size));
      here_.emplace_back(size, static_cast<char>(here_.size() + 1));
    }
  }
  Event send() {
    tgt_event_t last = nullptr;
    for (std::size_t i = 0; i < here_.size(); ++i)
      last = sent_.emplace_back(submit_later(there_[i]->at(), here_[i].data(), here_[i].size(), {last}));
    Event event = std::move(sent_.back());
    sent_.pop_back();
    return event;
  }
  // Fetches in the core's order: the last first.
  Event fetch(tgt_event_t behind) {
    for (std::size_t i = here_.size(); i-- > 0;) {
      here_[i].assign(here_[i].size(), 0);
      fetched_.push_back(retrieve_later(here_[i].data(), there_[i]->at(), here_[i].size(), {behind}));
      behind = fetched_.back();
    }
    Event event = std::move(fetched_.back());
    fetched_.pop_back();
    return event;
  }
  bool are_right() const {
    bool all = true;
    for (std::size_t i = 0; i < here_.size(); ++i)
      all = all && here_[i] == std::vector<char>(here_[i].size(), static_cast<char>(i + 1));
    return all;
  }
  void* at(std::size_t number) const { return there_[number]->at(); }

private:
  std::vector<std::unique_ptr<Memory>> there_;
  std::vector<std::vector<char>> here_;
  std::vector<Event> sent_, fetched_;
};

Names names_of(const auto& what) {
  CallLog log;
  log.lines();
  what();
  return log.names();
}

std::ptrdiff_t count_in(const Names& names, const char* name) {
  return std::count(names.begin(), names.end(), name);
}

} // namespace

TEST_CASE("a construct's small objects go in one transfer each way") {
  CHECK(run_later(kernel(kNothing), {}).wait() == 0); // leaves a stream
  const Names one_each{"cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync", "cuStreamSynchronize"};
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>(8, 64), {1, 300, 4000, 8, 256, 17}, {30'000, 30'000}}) {
    Objects objects(sizes);
    const auto region = [&] {
      const Event in = objects.send(), ran = run_later(kernel(kNothing), {}, {in}), out = objects.fetch(ran);
      CHECK(out.wait() == 0);
    };
    CHECK(names_of(region) == one_each);
    CHECK(objects.are_right());
  }
}

TEST_CASE("objects that are not neighbours, or too many bytes, go in more transfers") {
  loaded();
  auto first = std::make_unique<Objects>(std::vector<std::size_t>(4, 64));
  Objects many(std::vector<std::size_t>(7, 30'000));
  const auto all = [&] {
    const Event in = many.send(), out = many.fetch(in);
    CHECK(out.wait() == 0);
  };
  CHECK(count_in(names_of(all), "cuMemcpyHtoDAsync") == 4);
  CHECK(many.are_right());
  const Memory other(64), behind(64); // not those of `first`
  char bytes[64] = {};
  const auto apart = [&] {
    const Event in = submit_later(behind.at(), bytes, sizeof bytes);
    const Event again = submit_later(first->at(1), bytes, sizeof bytes, {in});
    CHECK(again.wait() == 0);
  };
  CHECK(count_in(names_of(apart), "cuMemcpyHtoDAsync") == 2);
}

TEST_CASE("a copy of a part of an object leaves the rest as it is") {
  loaded();
  const Memory first(std::vector<char>(100, 1)), second(std::vector<char>(100, 1));
  const std::vector<char> bytes(100, 2);
  const Event part = submit_later(first.at(), bytes.data(), 50);
  const Event whole = submit_later(second.at(), bytes.data(), 100, {part});
  const Event inside = submit_later(second.at(10), std::vector<char>(5, 3).data(), 5, {whole}); // the bytes go at once
  CHECK(inside.wait() == 0);
  std::vector<char> expected(100, 1);
  std::fill_n(expected.begin(), 50, 2);
  CHECK(first.values<char>(100) == expected);
  expected.assign(100, 2);
  std::fill_n(expected.begin() + 10, 5, 3);
  CHECK(second.values<char>(100) == expected);
}

TEST_CASE("what is gathered gets to a kernel that waits for it, whoever is waited for") {
  loaded();
  const Memory gate(std::vector<int>{0});
  const int one = 1;
  for (const bool is_asked : {false, true}) {
    const Event held = run_later(kernel(kHold), {gate.at()});
    Event opened = submit_later(gate.at(), &one, sizeof one);
    if (is_asked)
      while (held.is_pending()) {
      }
    opened.release(); // it goes on
    CHECK(held.wait() == 0);
    const int zero = 0;
    CHECK(submit(gate.at(), &zero, sizeof zero) == 0);
  }
}

TEST_CASE("other streams wait for what is gathered") {
  loaded();
  const Memory values(std::vector<int>{0, 0});
  const int some[] = {5, 6};
  const Event in = submit_later(values.at(), some, sizeof some);
  const Event ran = run_later(kernel(kAdd), {values.at(), bits(2), bits(10)}, {nullptr, in});
  CHECK(ran.wait() == 0);
  CHECK_FALSE(in.is_pending());
  CHECK(values.values<int>(2) == std::vector<int>{15, 16});
}

TEST_CASE("more chains gather at once than there is room for") {
  loaded();
  std::vector<std::unique_ptr<Memory>> there;
  std::vector<Event> sent;
  for (int i = 0; i < 100; ++i) {
    there.push_back(std::make_unique<Memory>(sizeof i));
    sent.push_back(submit_later(there.back()->at(), &i, sizeof i));
  }
  for (const Event& one : sent)
    CHECK(one.wait() == 0);
  for (int i = 0; i < 100; ++i)
    CHECK(there[static_cast<std::size_t>(i)]->values<int>(1).front() == i);
}

TEST_CASE("several threads have constructs of small objects at once") {
  constexpr int kThreads = 4, kRounds = 40, kObjects = 5;
  loaded();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  const auto construct = [&](int number) { // doctest's checks are for the main thread
    std::array<std::array<int, 2>, kObjects> here{};
    std::array<void*, kObjects> there{};
    std::vector<tgt_event_t> events;
    tgt_event_t last = nullptr;
    const auto next = [&](std::int32_t result, const tgt_event_t& event) { // which the call has written
      if (result == 0)
        events.push_back(last = event);
    };
    tgt_event_t made = nullptr;
    for (std::size_t i = 0; i < kObjects; ++i) {
      here[i] = {number, static_cast<int>(i)};
      there[i] = RTL(__tgt_rtl_data_alloc)(0, sizeof here[i]);
      next(RTL(__tgt_rtl_async_data_submit)(0, there[i], here[i].data(), sizeof here[i], 1, &last, &made), made);
    }
    void* arguments[] = {there[1], bits(2), bits(100)};
    next(RTL(__tgt_rtl_async_run_target_region)(0, loaded()[kAdd], arguments, 3, 1, &last, &made), made);
    for (std::size_t i = kObjects; i-- > 0;)
      next(RTL(__tgt_rtl_async_data_retrieve)(0, here[i].data(), there[i], sizeof here[i], 1, &last, &made), made);
    bool is_right = events.size() == 2 * kObjects + 1 && RTL(__tgt_rtl_wait_event)(last) == 0;
    for (int i = 0; i < kObjects; ++i) {
      const int more = i == 1 ? 100 : 0;
      is_right = is_right && here[static_cast<std::size_t>(i)] == std::array{number + more, i + more};
    }
    for (const tgt_event_t one : events)
      RTL(__tgt_rtl_release_dep)(one);
    for (void* const one : there)
      is_right = RTL(__tgt_rtl_data_delete)(0, one) == 0 && is_right;
    right += is_right ? 1 : 0;
  };
  for (int number = 0; number < kThreads; ++number)
    threads.emplace_back([&, number] {
      for (int round = 0; round < kRounds; ++round)
        construct(number * kRounds + round);
    });
  for (std::thread& one : threads)
    one.join();
  CHECK(right == kThreads * kRounds);
}

// Each operation comes after the one before it, in its stream or in another.
TEST_CASE("random copies, fills and kernels in several streams, beside the same on the host") {
  loaded();
  std::mt19937 random(11);
  constexpr std::size_t kObjects = 6, kStreams = 3;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::unique_ptr<Memory>> there;
    std::vector<std::vector<int>> here, expected_there, expected_here;
    for (std::size_t i = 0; i < kObjects; ++i) {
      const std::size_t count = 1 + random() % (i == 0 ? 20'000 : 100);
      here.emplace_back(count, static_cast<int>(i));
      there.push_back(std::make_unique<Memory>(std::vector<int>(count)));
    }
    expected_there = std::vector<std::vector<int>>(kObjects);
    for (std::size_t i = 0; i < kObjects; ++i)
      expected_there[i].resize(here[i].size());
    expected_here = here;
    std::array<tgt_event_t, kStreams> last{};
    tgt_event_t before = nullptr;
    std::vector<Event> all;
    for (int step = 0; step < 30; ++step) {
      const std::size_t stream = random() % kStreams, object = random() % kObjects;
      const std::size_t begin = random() % 2 ? 0 : random() % here[object].size();
      const std::size_t count =
          random() % 2 ? here[object].size() - begin : 1 + random() % (here[object].size() - begin);
      const auto first = static_cast<std::ptrdiff_t>(begin), end = static_cast<std::ptrdiff_t>(begin + count);
      void* const target = there[object]->at(begin * sizeof(int));
      std::vector<int>&on_device = expected_there[object], &on_host = expected_here[object];
      const Events after{last[stream], before};
      switch (random() % 4) {
      case 0:
      case 1:
        all.push_back(submit_later(target, here[object].data() + begin, count * sizeof(int), after));
        std::copy(on_host.begin() + first, on_host.begin() + end, on_device.begin() + first);
        break;
      case 2:
        all.push_back(retrieve_later(here[object].data() + begin, target, count * sizeof(int), after));
        std::copy(on_device.begin() + first, on_device.begin() + end, on_host.begin() + first);
        break;
      default:
        all.push_back(run_later(kernel(kAdd), {target, bits(static_cast<std::int64_t>(count)), bits(step)}, after));
        std::for_each(on_device.begin() + first, on_device.begin() + end, [&](int& value) { value += step; });
      }
      before = last[stream] = all.back();
    }
    CHECK(all.back().wait() == 0);
    CHECK(here == expected_here);
    for (std::size_t i = 0; i < kObjects; ++i)
      CHECK(there[i]->values<int>(here[i].size()) == expected_there[i]);
  }
}
