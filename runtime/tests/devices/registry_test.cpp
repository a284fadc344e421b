// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests registration, plugins and images under obstacles: the dynamic linker's lock, a plugin that calls back, freed
// memory, and names and addresses with two meanings.
#include "support.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

char first, second, tell; // addresses that stand for host versions

std::int32_t run(void* kernel, int& value) {
  return Rows{row(value, TOFROM | REF)}.region(kernel);
}

} // namespace

// ---- names of images ----

SCENARIO_OF(image_that_stays) {
  int value = 0;
  {
    Program stays({image_file("answer1")}, {{&first, "tell"}}); // built with -z nodelete
    EXPECT(run(&first, value) == 0);
    EXPECT(value == 1);
  }
  Program other({image_file("answer2")}, {{&second, "tell"}});
  EXPECT(run(&second, value) == 0);
  EXPECT(value == 2);
  return 0;
}

SCENARIO_OF(closed_descriptors) {
  int value = 0;
  {
    Program before({image_file("answer1")}, {{&first, "tell"}});
    EXPECT(run(&first, value) == 0);
    for (int file = 3; file < 64; ++file)
      ::close(file);
    Program after({image_file("answer2")}, {{&second, "tell"}});
    EXPECT(run(&second, value) == 0);
    EXPECT(value == 2);
    for (int file = 3; file < 32; ++file) // the program's own
      EXPECT(::open("/dev/null", O_RDONLY) == file);
  }
  for (int file = 3; file < 32; ++file)
    EXPECT(::fcntl(file, F_GETFD) >= 0);
  return 0;
}

TEST_CASE("an image is never taken for another, whatever happens to file descriptors") {
  Outcome outcome = run_scenario("image_that_stays");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  outcome = run_scenario("closed_descriptors");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

// ---- the dynamic linker's lock ----

namespace {

std::atomic<bool> linker_locked{false};

int launch_one() {
  int value[1] = {0};
  return Rows{row(value, TOFROM | REF), {reinterpret_cast<void*>(1), nullptr, 0, VALUE}}.region(&host::add_one) == 0 &&
         value[0] == 1;
}

// Called with the linker locked, once the other thread wants it too.
std::atomic<int> launched{0};
void launch_inside() {
  linker_locked = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  launched += launch_one();
}

int race(const char* when) {
  end_after(60);
  void* library = nullptr;
  if (!std::strcmp(when, "goes"))
    library = ::dlopen(TEST_FOLDER "/library_constructing.so", RTLD_NOW);
  std::thread other([] {
    while (!linker_locked)
      std::this_thread::yield();
    launched += launch_one();
  });
  if (library)
    ::dlclose(library);
  else
    ::dlopen(TEST_FOLDER "/library_constructing.so", RTLD_NOW);
  other.join();
  EXPECT(launched == 2);
  return 0;
}

} // namespace

extern "C" __attribute__((visibility("default"))) void test_library_loads() {
  if (!std::strcmp(std::getenv("TEST_WHEN"), "loads"))
    launch_inside();
}
extern "C" __attribute__((visibility("default"))) void test_library_goes() {
  if (!std::strcmp(std::getenv("TEST_WHEN"), "goes"))
    launch_inside();
}

SCENARIO_OF(linker_before_first_use) {
  use_main();
  return race(std::getenv("TEST_WHEN"));
}

SCENARIO_OF(linker_before_first_image) {
  use_main();
  omp_get_num_devices();
  omp_get_default_device();
  return race(std::getenv("TEST_WHEN"));
}

// Where a program handles faults, plugins ask the linker whose handler it is.
SCENARIO_OF(linker_before_first_handler) {
  use_main();
  ::signal(SIGSEGV, [](int) { ::_exit(1); });
  omp_target_free(omp_target_alloc(8, 0), 0);
  return race(std::getenv("TEST_WHEN"));
}

TEST_CASE("constructors and destructors of libraries may launch while another thread does first") {
  for (const char* scenario : {"linker_before_first_use", "linker_before_first_image", "linker_before_first_handler"})
    for (const char* when : {"TEST_WHEN=loads", "TEST_WHEN=goes"}) {
      const Outcome outcome = run_scenario(scenario, {when});
      INFO(scenario << " " << when << ": " << outcome.output);
      CHECK(outcome.signal == 0);
      CHECK(outcome.code == 0);
    }
}

// ---- plugins ----

TEST_CASE("a plugin may ask the runtime while it is asked") {
  for (const char* scenario : {"asked_plugin_launch", "asked_plugin_count"}) {
    const Outcome outcome =
        run_scenario(scenario, {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakeasking", "OMPTOOL_PLUGINS=fakeasking"});
    INFO(scenario << ": " << outcome.output);
    CHECK(outcome.signal == 0);
    CHECK(outcome.code == 0);
  }
}

SCENARIO_OF(asked_plugin_launch) {
  end_after(30);
  use_main();
  EXPECT(launch_one());
  EXPECT(omp_get_num_devices() == 1);
  return 0;
}

SCENARIO_OF(asked_plugin_count) {
  end_after(30);
  use_main();
  EXPECT(omp_get_num_devices() == 1);
  EXPECT(launch_one());
  return 0;
}

TEST_CASE("a plugin that is refused for its count leaves the image to the next") {
  const Outcome outcome = run_scenario("asked_plugin_launch", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakecount"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

// ---- symbol versions ----

SCENARIO_OF(unversioned_reference) {
  void* const library = ::dlopen(TEST_FOLDER "/library_unversioned.so", RTLD_NOW);
  EXPECT(library);
  void* const found = ::dlsym(library, "test_launch");
  EXPECT(found);
  Program program({image_file("answer1")}, {{&tell, "tell"}});
  int value = 0;
  EXPECT(reinterpret_cast<int (*)(void*, int*)>(found)(&tell, &value) == 0);
  EXPECT(value == 1);
  for (const char* name : {"__tgt_target", "__tgt_target_teams", "__tgt_target_data_begin", "__tgt_target_data_end",
                           "__tgt_target_data_update"}) {
    void* const llvm = ::dlvsym(RTLD_DEFAULT, name, "VERS1.0");
    void* const document = ::dlvsym(RTLD_DEFAULT, name, "OMPTARGET_4.5");
    EXPECT(llvm);
    EXPECT(document);
    EXPECT(llvm != document);
    EXPECT(::dlsym(RTLD_DEFAULT, name) == document);
  }
  return 0;
}

TEST_CASE("references without a version are the interface document's") {
  const Outcome outcome = run_scenario("unversioned_reference");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

// ---- what is gone, early or twice ----

SCENARIO_OF(deferred_data_of_unloaded) {
  use_main();
  const long page = ::sysconf(_SC_PAGESIZE);
  void* const memory =
      ::mmap(nullptr, static_cast<std::size_t>(page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(memory != MAP_FAILED);
  {
    Program program({image_file("other")}, {{memory, "counter", sizeof(int)}});
    Rows{{memory, memory, sizeof(int), TO | ALWAYS | REF}}.begin(-2);
  }
  EXPECT(::mprotect(memory, static_cast<std::size_t>(page), PROT_NONE) == 0);
  void* const library = ::dlopen(TEST_FOLDER "/library_deferring.so", RTLD_NOW);
  EXPECT(library);
  ::dlclose(library);
  EXPECT(!::dlopen(TEST_FOLDER "/library_deferring.so", RTLD_NOW | RTLD_NOLOAD));
  EXPECT(launch_one());
  return 0;
}

TEST_CASE("deferred data calls go with the library whose memory they name") {
  const Outcome outcome = run_scenario("deferred_data_of_unloaded");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(launch_before_loaded) {
  char region[32];
  std::snprintf(region, sizeof region, "TEST_REGION=%p", static_cast<void*>(&second));
  ::putenv(region);
  // Launching library: its image launches a region of the second, whose image is loaded later.
  Program launching({image_file("launching")}, {{&first, "first"}});
  Program later({image_file("answer2")}, {{&second, "second"}});
  int value = 0;
  EXPECT(run(&first, value) == 0);
  EXPECT(value == -1); // ran on the host
  EXPECT(run(&second, value) == 0);
  EXPECT(value == 2);
  return 0;
}

TEST_CASE("a region that is asked for too early runs on its device later") {
  const Outcome outcome = run_scenario("launch_before_loaded");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(variable_in_two_images) {
  static int answer = 7;
  Program program({image_file("answer1"), image_file("answer2")},
                  {{&first, "first"}, {&second, "second"}, {&answer, "answer", sizeof answer}});
  Rows{row(answer, TO)}.update();
  int value = 0;
  EXPECT(run(&first, value) == 0);
  EXPECT(value == 7);
  EXPECT(run(&second, value) != 0); // its image has another `answer`
  return 0;
}

TEST_CASE("a kernel that would see a second copy of a variable runs on the host") {
  const Outcome outcome = run_scenario("variable_in_two_images");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region second runs on the host: its image could not be loaded on device 0 (host) (another image "
                    "of this library has its global variable answer)\n"));
}

SCENARIO_OF(folded_kernels) {
  Program program({image_file("main")},
                  {{&host::add_one, "add_one"}, {&host::add_one, "add_ten"}, {&host::nothing, "nothing"}});
  EXPECT(!launch_one());
  EXPECT(Rows{}.region(&host::nothing) == 0);
  return 0;
}

TEST_CASE("an address that stands for two kernels runs neither on a device") {
  const Outcome outcome = run_scenario("folded_kernels");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("runs on the host: its host address stands for two kernels, add_one and add_ten (identical "
                    "functions folded by the linker)\n"));
}

// ---- an image's own table ----

namespace {

// Returns the image with its entry table in a gap between two segments, where nothing is mapped.
std::vector<char> with_table_in_a_gap(std::vector<char> image) {
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* const segments = reinterpret_cast<const Elf64_Phdr*>(image.data() + header->e_phoff);
  auto* const sections = reinterpret_cast<Elf64_Shdr*>(image.data() + header->e_shoff);
  const char* const names = image.data() + sections[header->e_shstrndx].sh_offset;
  Elf64_Addr gap = 0;
  for (const Elf64_Phdr* at = segments; at != segments + header->e_phnum; ++at)
    if (at->p_type == PT_LOAD && gap == 0)
      gap = (at->p_vaddr + at->p_memsz + 0xffff) & ~Elf64_Addr{0xffff};
  for (Elf64_Shdr* at = sections; at != sections + header->e_shnum; ++at)
    if (!std::strcmp(names + at->sh_name, "omptarget_entries"))
      at->sh_addr = gap;
  return image;
}

} // namespace

SCENARIO_OF(table_in_a_gap) {
  Program program({with_table_in_a_gap(image_file("gaps"))}, {{&host::hidden, "hidden"}, {&host::nothing, "nothing"}});
  int value = 0;
  EXPECT(run(&host::hidden, value) != 0);
  EXPECT(Rows{}.region(&host::nothing) == 0);
  return 0;
}

TEST_CASE("an entry table where the image has no memory is not read") {
  const Outcome outcome = run_scenario("table_in_a_gap");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region hidden runs on the host: the image for device 0 (host) lacks it"));
}

// ---- the environment ----

TEST_CASE("values of OpenMP's variables may have blanks around them") {
  const Outcome outcome =
      run_scenario("asked_plugin_launch", {"OMP_TARGET_OFFLOAD= mandatory ", "OMP_DEFAULT_DEVICE= 0\t"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "");
}
