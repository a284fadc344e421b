// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests programs that compile while they run: they register an image for each region, and unregister it with its code.
// No resources of an image remain: memory, file descriptors, mappings and loaded objects are counted over a thousand
// images, or over OMPTOOL_MANY_IMAGES. Nor do many images slow down new ones.
#include "llvm_calls.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <link.h>
#include <malloc.h>
#include <memory>
#include <random>
#include <string>
#include <thread>

using namespace llvm_abi;

namespace {

int rounds() {
  const char* const asked = std::getenv("OMPTOOL_MANY_IMAGES");
  return asked ? std::atoi(asked) : 1000;
}

// Code that comes and goes: other addresses each time, as far as the allocator gives any.
struct Code {
  char second, tell;
  int answer = 2;
};

// Use of a library before it is unregistered.
enum Use { kRegistered, kCounted, kLaunched };

class JustCompiled {
public:
  explicit JustCompiled(const std::vector<char>& image)
      : library_(image, {{&code_->second, "second"}, {&code_->answer, "answer", sizeof code_->answer}}) {}

  bool works(Use use) const {
    if (use == kRegistered)
      return true;
    if (use == kCounted)
      return omp_get_num_devices() == 1;
    const auto value = std::make_unique<int>(0);
    return launch(&code_->second, {element(*value, kTofrom | kParameter)}) == 0 && *value == code_->answer;
  }

private:
  std::unique_ptr<Code> code_ = std::make_unique<Code>();
  Library<Record32> library_;
};

// Held resources of the process: everything that an image may leave behind.
struct Held {
  std::ptrdiff_t memory, descriptors, mappings, objects;
};

Held held() {
  std::ifstream maps("/proc/self/maps");
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  std::ptrdiff_t objects = 0;
  ::dl_iterate_phdr([](dl_phdr_info*, std::size_t, void* number) { return ++*static_cast<std::ptrdiff_t*>(number), 0; },
                    &objects);
  return {static_cast<std::ptrdiff_t>(::mallinfo2().uordblks), std::distance(begin(descriptors), end(descriptors)),
          std::count(std::istreambuf_iterator<char>(maps), {}, '\n'), objects};
}

// Uses `number` images in all, a few at a time.
bool use_many(const std::vector<char>& image, Use use, int number) {
  constexpr int kAtATime = 20;
  for (int i = 0; i < number; i += kAtATime) {
    std::vector<std::unique_ptr<JustCompiled>> some;
    for (int k = 0; k < kAtATime; ++k) {
      some.push_back(std::make_unique<JustCompiled>(image));
      if (!some.back()->works(use))
        return false;
    }
  }
  return true;
}

bool use_many_at_once(const std::vector<char>& image, Use use, int number) {
  bool other_ok = false;
  std::thread other([&] { other_ok = use_many(image, use, number / 2); });
  const bool ok = use_many(image, use, number / 2);
  other.join();
  return ok && other_ok;
}

} // namespace

SCENARIO_OF(many_images) {
  constexpr std::ptrdiff_t kTables = 48 * 1024; // that have grown once; of 10,000 images it would be 5 bytes each
#ifdef SANITIZED
  constexpr std::ptrdiff_t kMappings = 1000; // their allocators keep what is freed
#else
  constexpr std::ptrdiff_t kMappings = 16; // of threads that have begun late
#endif
  const std::vector<char> image = image_file("answer2");
  const Use use = static_cast<Use>(std::atoi(std::getenv("TEST_USE")));
  EXPECT(use_many_at_once(image, use, 200));
  const Held before = held();
  EXPECT(use_many_at_once(image, use, rounds()));
  const Held after = held();
  std::printf("memory %+td descriptors %+td mappings %+td objects %+td\n", after.memory - before.memory,
              after.descriptors - before.descriptors, after.mappings - before.mappings, after.objects - before.objects);
  EXPECT(after.memory - before.memory < kTables);
  EXPECT(after.descriptors == before.descriptors);
  EXPECT(after.mappings - before.mappings < kMappings);
  EXPECT(after.objects == before.objects);
  return 0;
}

// Seconds of the processor for libraries that are there at once, and go in another order than they came in; negative
// where one was wrong.
static double seconds_of(const std::vector<char>& image, std::size_t number) {
  const std::clock_t begin = std::clock();
  std::vector<std::unique_ptr<JustCompiled>> all;
  for (std::size_t i = 0; i < number; ++i) {
    all.push_back(std::make_unique<JustCompiled>(image));
    if (!all.back()->works(kCounted))
      return -1;
  }
  std::shuffle(all.begin(), all.end(), std::mt19937(28));
  all.clear();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

SCENARIO_OF(images_at_once) {
  constexpr std::size_t kFew = 1000, kMany = 8000; // not loaded: the dynamic linker looks at all that are
  const std::vector<char> image = image_file("answer2");
  EXPECT(seconds_of(image, kFew) > 0);
  const double few = seconds_of(image, kFew), many = seconds_of(image, kMany);
  std::printf("%zu: %.3f s, %zu: %.3f s\n", kFew, few, kMany, many);
  EXPECT(few > 0 && many > 0);
  EXPECT(many < 4 * few * kMany / kFew); // it was 8 times as much when each looked at all others; a cache holds few
  return 0;
}

TEST_CASE("an image costs about the same among many as among few") {
  const Outcome outcome = run_scenario("images_at_once");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

TEST_CASE("images that come and go leave nothing behind") {
  // Tunable that turns off the allocator's own store of freed memory.
  const std::string tunable = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0";
  for (const char* use : {"TEST_USE=0", "TEST_USE=1", "TEST_USE=2"}) {
    const Outcome outcome = run_scenario("many_images", {use, tunable, "OMPTOOL_HOST_IN_FLIGHT=2"});
    INFO(use << ": " << outcome.output);
    CHECK(outcome.code == 0);
  }
}
