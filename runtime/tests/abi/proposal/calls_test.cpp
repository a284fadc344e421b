// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of libtarget.h, beside ones of omptarget.h in the same process; on the CPU plugin and on a
// plugin of libtarget_rtl.h (support/proposal_cpu.cpp), whole and failing.
#include "libtarget.h"

#include "scenario.h"

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <initializer_list>
#include <thread>

// Declares a routine of libomptarget.so, which this program is linked with, too.
extern "C" int omp_target_is_present(const void* address, int device);

// proposal_beside.cpp, which is written for omptarget.h.
int map_beside(int* values, int count);
int unmap_beside(int* values, int count);
int run_beside(int* values, int count);

namespace {

struct Argument {
  void* at;
  int size;
  tgt_map_type type;
};
template <typename T> Argument argument(T& object, tgt_map_type type) {
  return {&object, sizeof object, type};
}

class Call {
public:
  Call(std::initializer_list<Argument> arguments) {
    for (const Argument& one : arguments) {
      at_.push_back(one.at);
      size_.push_back(one.size);
      type_.push_back(one.type);
    }
  }
  int region(void* host, int device = -1) {
    return __tgt_target(device, host, count(), at_.data(), size_.data(), type_.data());
  }
  int teams(void* host) { return __tgt_target_teams(-1, host, count(), at_.data(), size_.data(), type_.data(), 4, 2); }
  void begin(int device = -1) { __tgt_target_data_begin(device, count(), at_.data(), size_.data(), type_.data()); }
  void end(int device = -1) { __tgt_target_data_end(device, count(), at_.data(), size_.data(), type_.data()); }
  void update() { __tgt_target_data_update(-1, count(), at_.data(), size_.data(), type_.data()); }

private:
  int count() const { return static_cast<int>(at_.size()); }
  std::vector<void*> at_;
  std::vector<int> size_;
  std::vector<tgt_map_type> type_;
};

// Host side of images/proposal.c: addresses that stand for the host versions, such as add_one, and a variable.
char add_one, add_counter, sum6, absent;
int counter = 40;

class Program {
public:
  explicit Program(const std::string& image = "proposal") : bytes_(image_file(image)) {
    descriptor.EntriesEnd = entries_ + std::size(entries_);
    __tgt_register_lib(&descriptor);
  }
  ~Program() { __tgt_unregister_lib(&descriptor); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

private:
  std::vector<char> bytes_;
  tgt_offload_entry entries_[5] = {
      {&counter, sizeof counter}, {&add_one, 0}, {&add_counter, 0}, {&sum6, 0}, {&absent, 0}};
  tgt_device_image image_{bytes_.data(), bytes_.data() + bytes_.size()};

public:
  tgt_bin_desc descriptor{1, &image_, entries_, entries_};
};

const std::string kReal = "OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/proposal_cpu";
const std::string kFake = "OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakeproposal";

// The scenario on each of the two kinds of plugin.
void check_on_both(const char* scenario, std::vector<std::string> environment = {"OMP_TARGET_OFFLOAD=MANDATORY"}) {
  environment.push_back(kReal);
  for (const std::string plugin : {"OMPTOOL_PLUGINS=host", "OMPTOOL_PLUGINS=proposal_cpu"}) {
    CAPTURE(plugin);
    environment.push_back(plugin);
    const Outcome outcome = run_scenario(scenario, environment);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output.empty());
    environment.pop_back();
  }
}

// Runs a scenario on a plugin that fails.
Outcome run_failing(const char* scenario, const std::string& function, const std::string& more = "FAKEPROPOSAL_AT=1") {
  return run_scenario(scenario, {kFake, "OMPTOOL_PLUGINS=fakeproposal", "FAKEPROPOSAL_IN=" + function, more});
}

} // namespace

SCENARIO_OF(proposal_region) {
  const Program program;
  int values[4] = {1, 2, 3, 4}, count = 4;
  EXPECT(Call({argument(values, tgt_map_tofrom), argument(count, tgt_map_to)}).region(&add_one) == 0);
  EXPECT(values[0] == 2 && values[3] == 5);
  EXPECT(Call({argument(values, tgt_map_tofrom), argument(count, tgt_map_to)}).teams(&add_one) == 0);
  EXPECT(values[0] >= 3 && values[0] == values[3] - 3); // as many teams as the plugin makes of 4
  int a = 1, b = 20, c = 300, d = 4000, e = 50000, f = 0;
  Call six{argument(a, tgt_map_to), argument(b, tgt_map_to), argument(c, tgt_map_to),
           argument(d, tgt_map_to), argument(e, tgt_map_to), argument(f, tgt_map_from)};
  EXPECT(six.region(&sum6) == 0);
  EXPECT(f == 54321);
  return 0;
}
TEST_CASE("a region of 2013 gets the addresses of its objects, and copies as they say") {
  check_on_both("proposal_region");
}

SCENARIO_OF(proposal_types) {
  const Program program;
  int count = 4;
  int to[4] = {1, 2, 3, 4}, from[4] = {}, none[4] = {1, 2, 3, 4};
  Call three{argument(to, tgt_map_to), argument(from, tgt_map_from), argument(none, tgt_map_alloc)};
  three.begin();
  Call use{argument(to, tgt_map_tofrom), argument(count, tgt_map_to)};
  EXPECT(use.region(&add_one) == 0);
  Call copied{argument(to, tgt_map_from)};
  EXPECT(to[0] == 1); // mapped by the enclosing construct: the region copies nothing
  copied.update();
  EXPECT(to[0] == 2 && to[3] == 5);
  to[0] = 10;
  Call({argument(to, tgt_map_to)}).update();
  EXPECT(use.region(&add_one) == 0);
  copied.update();
  EXPECT(to[0] == 11 && to[3] == 6);
  to[0] = 99;
  Call({argument(none, tgt_map_to), argument(from, tgt_map_to)}).update(); // memory of the device's own, now defined
  three.end();
  EXPECT(to[0] == 99);  // was only mapped to
  EXPECT(none[0] == 1); // never copied back
  EXPECT(!omp_target_is_present(to, 0) && !omp_target_is_present(from, 0) && !omp_target_is_present(none, 0));
  return 0;
}
TEST_CASE("the four map types copy what they say, when an object comes and when it goes") {
  check_on_both("proposal_types");
}

SCENARIO_OF(proposal_counts) {
  const Program program;
  int values[2] = {1, 2}, count = 2;
  Call outer{argument(values, tgt_map_tofrom)};
  outer.begin();
  Call({argument(values, tgt_map_tofrom)}).begin();
  outer.end();
  EXPECT(omp_target_is_present(values, 0)); // one of two references is left
  values[0] = 50;
  EXPECT(Call({argument(values, tgt_map_tofrom), argument(count, tgt_map_to)}).region(&add_one) == 0);
  EXPECT(values[0] == 50 && omp_target_is_present(values, 0));
  EXPECT(!omp_target_is_present(&count, 0));
  // Part of a present object, twice in one call.
  Call({{values, sizeof(int), tgt_map_to}, {values + 1, sizeof(int), tgt_map_from}}).begin();
  Call({{values, sizeof(int), tgt_map_to}, {values + 1, sizeof(int), tgt_map_from}}).end();
  EXPECT(values[1] == 2);
  outer.end();
  EXPECT(!omp_target_is_present(values, 0));
  EXPECT(values[0] == 2 && values[1] == 3);
  outer.end(); // nothing is there any more
  EXPECT(values[0] == 2);
  return 0;
}
TEST_CASE("references of 2013 are counted, and the last one copies") {
  check_on_both("proposal_counts");
}

SCENARIO_OF(proposal_global) {
  const Program program;
  int value = 1;
  EXPECT(Call({argument(value, tgt_map_tofrom)}).region(&add_counter) == 0);
  EXPECT(value == 6); // the device's own value
  Call({argument(counter, tgt_map_to)}).update();
  EXPECT(Call({argument(value, tgt_map_tofrom)}).region(&add_counter) == 0);
  EXPECT(value == 46);
  Call({argument(counter, tgt_map_from)}).update();
  EXPECT(counter == 41);
  return 0;
}
TEST_CASE("a variable without a name is its counterpart on the device") {
  check_on_both("proposal_global");
}

SCENARIO_OF(proposal_fallback) {
  const Program program;
  int values[2] = {1, 2}, count = 2;
  Call data{argument(values, tgt_map_tofrom)};
  Call region{argument(values, tgt_map_tofrom), argument(count, tgt_map_to)};
  data.begin();
  EXPECT(region.region(&add_one) == 0);
  EXPECT(region.region(&absent) != 0);
  EXPECT(values[0] == 2 && values[1] == 3); // what the device had
  values[0] *= 100;
  EXPECT(region.region(&add_one) == 0);
  data.end();
  EXPECT(values[0] == 201 && values[1] == 4);
  return 0;
}
TEST_CASE("a region without code on the device runs on the host, on the right data") {
  for (const char* plugin : {"host", "proposal_cpu"}) {
    const Outcome outcome = run_scenario("proposal_fallback", {kReal, std::string("OMPTOOL_PLUGINS=") + plugin});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "omptarget: region entry 4 runs on the host: the image for device 0 (" +
                                std::string(plugin) + ") lacks it\n");
  }
  const Outcome outcome = run_scenario("proposal_fallback", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("region entry 4 cannot run on a device, and OMP_TARGET_OFFLOAD is MANDATORY"));
}

SCENARIO_OF(proposal_malformed) {
  const Program program;
  int values[2] = {1, 2}, count = 2;
  void* at[] = {values, &count};
  int sizes[] = {sizeof values, sizeof count};
  int types[] = {tgt_map_tofrom, tgt_map_to};
  tgt_map_type* const mapped = reinterpret_cast<tgt_map_type*>(types);
  types[1] = 4;
  EXPECT(__tgt_target(-1, &add_one, 2, at, sizes, mapped) != 0);
  types[1] = -1;
  __tgt_target_data_begin(-1, 2, at, sizes, mapped);
  types[1] = tgt_map_to;
  sizes[0] = -8;
  EXPECT(__tgt_target(-1, &add_one, 2, at, sizes, mapped) != 0);
  sizes[0] = sizeof values;
  at[0] = nullptr;
  EXPECT(__tgt_target(-1, &add_one, 2, at, sizes, mapped) != 0);
  EXPECT(__tgt_target(-1, &add_one, 2, nullptr, sizes, mapped) != 0);
  EXPECT(__tgt_target(-1, &add_one, -2, at, sizes, mapped) != 0);
  at[0] = values;
  EXPECT(__tgt_target(-2, &add_one, 2, at, sizes, mapped) != 0); // no deferring in 2013
  EXPECT(__tgt_target(-3, &add_one, 2, at, sizes, mapped) != 0);
  EXPECT(__tgt_target(77, &add_one, 2, at, sizes, mapped) != 0);
  __tgt_target_data_begin(-2, 2, at, sizes, mapped);
  EXPECT(!omp_target_is_present(values, 0) && values[0] == 1);
  EXPECT(__tgt_target(-1, &add_one, 2, at, sizes, mapped) == 0);
  EXPECT(values[0] == 2);
  __tgt_register_lib(nullptr);
  __tgt_unregister_lib(nullptr);
  return 0;
}
TEST_CASE("a malformed call of 2013 is named, and the region runs on the host") {
  const Outcome outcome = run_scenario("proposal_malformed");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region entry 1 runs on the host: __tgt_target: row 1 has an unknown map type"));
  CHECK(outcome.has("__tgt_target_data_begin: row 1 has an unknown map type"));
  CHECK(outcome.has("row 0 has a negative size"));
  CHECK(outcome.has("row 0 names memory that cannot exist"));
  CHECK(outcome.has("__tgt_target: the call has 2 rows, but not all three arrays"));
  CHECK(outcome.has("__tgt_target: the call has -2 rows, but not all three arrays"));
  CHECK(outcome.has("__tgt_target: device number -2 is out of range"));
  CHECK(outcome.has("__tgt_target_data_begin: device number -2 is out of range; the call is ignored"));
}

// ---- tables that do not belong together ----

SCENARIO_OF(proposal_short) {
  const Program program("proposal_short");
  int value = 1;
  EXPECT(Call({argument(value, tgt_map_tofrom)}).region(&add_counter) != 0);
  EXPECT(value == 1);
  return 0;
}
SCENARIO_OF(proposal_swapped) {
  const Program program("proposal_swapped");
  int value = 1;
  EXPECT(Call({argument(value, tgt_map_tofrom)}).region(&add_counter) != 0);
  EXPECT(value == 1);
  return 0;
}
TEST_CASE("an image whose table cannot be the host's runs nothing") {
  const auto check = [](const char* scenario, const std::string& plugin, const char* reason) {
    const Outcome outcome = run_scenario(scenario, {kReal, "OMPTOOL_PLUGINS=" + plugin});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "omptarget: region entry 2 runs on the host: its image could not be loaded on device 0 (" +
                                plugin + ") (" + reason + ")\n");
  };
  check("proposal_short", "host", "the host lists 5 entries, the image 3, and without names they pair by position");
  check("proposal_short", "proposal_cpu",
        "the plugin's table has 3 entries, the host's has 5, and entries without names pair by position");
  check("proposal_swapped", "host", "entry 1 has 0 bytes on the host and 4 in the image");
  check("proposal_swapped", "proposal_cpu", "entry 1 has 0 bytes on the host and 4 in the image");
}

SCENARIO_OF(proposal_descriptors) {
  tgt_offload_entry entries[2] = {{&add_one, 0}, {&counter, -4}};
  tgt_bin_desc negative{0, nullptr, entries, entries + 2};
  tgt_bin_desc torn{0, nullptr, entries, reinterpret_cast<tgt_offload_entry*>(reinterpret_cast<char*>(entries) + 24)};
  tgt_bin_desc imageless{2, nullptr, entries, entries + 1};
  tgt_device_image backwards{entries + 1, entries};
  tgt_bin_desc backward{1, &backwards, entries, entries + 1};
  tgt_bin_desc many{70000, &backwards, entries, entries + 1};
  for (tgt_bin_desc* one : {&negative, &torn, &imageless, &backward, &many})
    __tgt_register_lib(one);
  EXPECT(omp_get_num_devices() == 0);
  for (tgt_bin_desc* one : {&negative, &torn, &imageless, &backward, &many})
    __tgt_unregister_lib(one);
  return 0;
}
TEST_CASE("a damaged descriptor of 2013 is named and left out") {
  const Outcome outcome = run_scenario("proposal_descriptors");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  for (const char* fault : {"the size of entry 1 is -4", "its entry table does not end where an entry ends",
                            "it counts 2 images, but has no list of them", "image 0 ends before it begins",
                            "it counts 70000 images; 65536 are the most"})
    CHECK(outcome.has(fault));
}

// ---- beside the other interfaces ----

SCENARIO_OF(proposal_beside) {
  const Program program;
  int values[2] = {1, 2}, count = 2;
  map_beside(values, 2); // counts a reference, on the same device
  EXPECT(omp_target_is_present(values, 0));
  Call region{argument(values, tgt_map_tofrom), argument(count, tgt_map_to)};
  EXPECT(region.region(&add_one) == 0);
  EXPECT(run_beside(values, 2) == 0);
  EXPECT(values[0] == 1); // both worked on the device's copy
  unmap_beside(values, 2);
  EXPECT(values[0] == 12 && values[1] == 13);
  return 0;
}
TEST_CASE("programs of 2013 and of the interface document share one mapping table") {
  const Outcome outcome = run_scenario("proposal_beside", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output.empty());
}

SCENARIO_OF(proposal_named) {
  int values[2] = {1, 2};
  EXPECT(run_beside(values, 2) != 0); // a program whose entries have names
  return 0;
}
TEST_CASE("a plugin of 2013 gets no program whose entries have names") {
  const Outcome outcome = run_scenario("proposal_named", {kReal, "OMPTOOL_PLUGINS=proposal_cpu"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "omptarget: region add_ten runs on the host: there is no device: no plugin (proposal_cpu) "
                          "accepts an image of this program: proposal_cpu (it is for programs of libtarget.h, whose "
                          "entries have no names)\n");
}

SCENARIO_OF(proposal_routines) {
  const Program program;
  EXPECT(omp_get_num_devices() == 2);
  EXPECT(omp_is_initial_device() == 1);
  EXPECT(omp_get_default_device() == 0);
  omp_set_default_device(1);
  int values[2] = {1, 2}, count = 2;
  Call({argument(values, tgt_map_to)}).begin();
  EXPECT(omp_target_is_present(values, 1) && !omp_target_is_present(values, 0));
  EXPECT(Call({argument(values, tgt_map_tofrom), argument(count, tgt_map_to)}).region(&add_one, 0) == 0);
  EXPECT(values[0] == 2); // on the other device
  Call({argument(values, tgt_map_to)}).end();
  return 0;
}
TEST_CASE("libtarget.so has the device routines of OpenMP 4.0") {
  check_on_both("proposal_routines", {"OMP_TARGET_OFFLOAD=MANDATORY", "OMPTOOL_HOST_DEVICES=2"});
}

SCENARIO_OF(proposal_again) {
  for (int round = 0; round < 3; ++round) {
    const Program program;
    int value = 1;
    EXPECT(Call({argument(value, tgt_map_tofrom)}).region(&add_counter) == 0);
    EXPECT(value == 6); // a new copy of the image each time
  }
  int value = 1;
  EXPECT(Call({argument(value, tgt_map_tofrom)}).region(&add_counter) != 0);
  return 0;
}
TEST_CASE("a library of 2013 may be unregistered and come back") {
  for (const char* plugin : {"OMPTOOL_PLUGINS=host", "OMPTOOL_PLUGINS=proposal_cpu"}) {
    const Outcome outcome = run_scenario("proposal_again", {kReal, plugin});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.has("runs on the host: "));
  }
}

SCENARIO_OF(proposal_threads) {
  const Program program;
  constexpr int kThreads = 4, kRounds = 200;
  int results[kThreads][4] = {};
  std::vector<std::thread> threads;
  for (auto& mine : results)
    threads.emplace_back([&mine] {
      int count = 4;
      for (int round = 0; round < kRounds; ++round) {
        const int device = round % 2;
        Call data{argument(mine, tgt_map_tofrom)};
        data.begin(device);
        Call({argument(mine, tgt_map_tofrom), argument(count, tgt_map_to)}).region(&add_one, device);
        data.end(device);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const auto& mine : results)
    EXPECT(mine[0] == kRounds && mine[3] == kRounds);
  return 0;
}
TEST_CASE("threads may run regions of 2013 at once on both kinds of plugin") {
  check_on_both("proposal_threads", {"OMP_TARGET_OFFLOAD=MANDATORY", "OMPTOOL_HOST_DEVICES=2"});
}

// ---- plugins that fail ----

SCENARIO_OF(proposal_one) {
  const Program program;
  int values[2] = {1, 2}, count = 2;
  const int result = Call({argument(values, tgt_map_tofrom), argument(count, tgt_map_to)}).region(&add_one);
  EXPECT(values[0] == (result == 0 ? 2 : 1));
  return result == 0 ? 0 : 3;
}
static const std::string kLacking = "__tgt_rtl_load_binary, __tgt_rtl_data_alloc, __tgt_rtl_data_submit, "
                                    "__tgt_rtl_data_retrieve, __tgt_rtl_data_delete, __tgt_rtl_run_target_region, "
                                    "__tgt_rtl_run_target_team_region";

TEST_CASE("a plugin of 2013 without a required function is refused and named") {
  const Outcome outcome = run_scenario("proposal_one", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakeproposallacking",
                                                        "OMPTOOL_PLUGINS=fakeproposallacking"});
  CHECK(outcome.code == 3);
  CHECK(outcome.output == "omptarget: region entry 1 runs on the host: there is no device: plugin fakeproposallacking "
                          "was refused: it lacks " +
                              kLacking + "\n");
}
TEST_CASE("what a plugin of 2013 refuses before the kernel starts is the host's turn, with the reason") {
  const auto check = [](const char* function, const std::string& reason) {
    const Outcome outcome = run_failing("proposal_one", function);
    CAPTURE(std::string(function));
    CHECK_MESSAGE(outcome.code == 3, outcome.output);
    CHECK_MESSAGE(outcome.has("region entry 1 runs on the host: "), outcome.output);
    CHECK_MESSAGE(outcome.has(reason), outcome.output);
  };
  check("device_type", "no plugin (fakeproposal) accepts an image of this program");
  check("number_of_devices", "plugin fakeproposal was refused: it counts -7 devices");
  check("load_binary", "its image could not be loaded on device 0 (fakeproposal) (__tgt_rtl_load_binary returned no "
                       "table)");
  check("table", "(the plugin's table has 4 entries, the host's has 5, and");
  check("sizes", "(entry 0 has 4 bytes on the host and 5 in the image)");
  check("data_alloc", "the device has no memory for the object at ");
  check("data_submit", "(__tgt_rtl_data_submit returned 7)");
}
TEST_CASE("what fails once a kernel has started ends the program with the reason") {
  const auto check = [](const char* function, const char* reason) {
    const Outcome outcome = run_failing("proposal_one", function, "FAKEPROPOSAL_AT=2"); // the first one probes
    CHECK_MESSAGE(outcome.signal == SIGABRT, outcome.output);
    CHECK_MESSAGE(outcome.has(reason), outcome.output);
  };
  const Outcome outcome = run_failing("proposal_one", "run");
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("region entry 1 failed on device 0 (fakeproposal) with error 7 (__tgt_rtl_run_target_region "
                    "returned 7)"));
  check("data_retrieve", "(__tgt_rtl_data_retrieve returned 7)");
  const Outcome freed = run_failing("proposal_one", "data_delete", "FAKEPROPOSAL_AT=2");
  CHECK_MESSAGE(freed.code == 0, freed.output);
  CHECK(freed.has("region entry 1: plugin fakeproposal could not free device memory of the object at "));
  CHECK(freed.has("(__tgt_rtl_data_delete returned 7)"));
}

// Tests that the results of a failed run have no special meaning there, whatever they mean elsewhere
// (OMPTARGET_RTL_NOT_STARTED).
TEST_CASE("of a run that fails, all errors of a plugin of 2013 are the same") {
  const Outcome outcome = run_failing("proposal_one", "run", "FAKEPROPOSAL_ERROR=2");
  CHECK(outcome.signal == SIGABRT);
  CHECK(
      outcome.has("region entry 1 failed on device 0 (fakeproposal) with error 1 (__tgt_rtl_run_target_region returned "
                  "2)"));
}

TEST_CASE("the plugins of 2013 are described as others are") {
  const Outcome outcome =
      run_scenario("describe", {kReal + ":" TEST_FOLDER "/fakeproposallacking", "OMPTOOL_PLUGINS=proposal_cpu,"
                                                                                "fakeproposallacking"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("fakeproposallacking|refused|it lacks " + kLacking + "|0|"));
  CHECK(outcome.has("proposal_cpu|ready|-|2|"));
}
