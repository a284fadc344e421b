// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bitcode to an image, by a helper that is a FAKE: a shell script named omptool, which writes down its arguments.
#include "compile/compiled.h"

#include "compile/failures.h"
#include "module.h"
#include "omptarget_rtl.h"
#include "scenario.h"

#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace omptool::compile;
using omptool::Bytes;

namespace {

const Target kTarget{"x86_64-pc-linux-gnu", "native", "a processor"};
// Script of a helper that works: $3 is the triple, $5 the output, $6 the image.
constexpr char kWorks[] = "{ echo \"$3 $7 $8\"; wc -c <\"$6\"; } >\"$5.part\"; sleep 0.1; mv \"$5.part\" \"$5\"";
constexpr char kRefuses[] = "echo 'Warning: it is odd' >&2; echo \"Error: $6: line 1 is wrong\" >&2; exit 2";

void set(const char* name, const std::string& value) {
  if (value.empty())
    ::unsetenv(name);
  else
    ::setenv(name, value.c_str(), 1);
}

// Set variable of the environment, for the object's lifetime.
class Set {
public:
  Set(const char* name, const std::string& value) : name_(name) {
    const char* const before = ::getenv(name);
    before_ = before ? before : "";
    set(name, value);
  }
  ~Set() { set(name_, before_); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

private:
  const char* name_;
  std::string before_;
};

// Place with a fresh cache, and a fake omptool on PATH.
class Place {
public:
  explicit Place(const std::string& script) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/bin");
    if (script.empty())
      return;
    std::ofstream(helper()) << "#!/bin/sh\necho run >>" << folder_ << "/runs\n" << script << "\n";
    fs::permissions(helper(), fs::perms::owner_all);
  }
  ~Place() { fs::remove_all(folder_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const std::string& folder() const { return folder_; }
  std::string helper() const { return folder_ + "/bin/omptool"; }
  std::size_t runs() const {
    std::ifstream file(folder_ + "/runs");
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);)
      ++count;
    return count;
  }
  std::size_t files() const { // of the cache
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_ + "/cache"), {}));
  }

private:
  // Folder of this process: the program runs twice at the same time, directly and over the queue.
  const std::string folder_ = TEST_FOLDER "/compiled-" + std::to_string(::getpid());
  const Set cache_{"OMPTOOL_CACHE_DIR", folder_ + "/cache"};
  const Set path_{"PATH", folder_ + "/bin:/usr/bin:/bin"};
};

std::string text_of(const Compiled& code) {
  return {reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()};
}

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

} // namespace

TEST_CASE("bitcode is compiled once for each target") {
  const Place place(kWorks);
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  const std::size_t files = open_files();
  const std::string expected = "x86_64-pc-linux-gnu --cpu native\n" + std::to_string(module.size()) + "\n";
  for (int i = 0; i < 2; ++i) {
    const Compiled code = compiled(module, kTarget);
    CHECK(code.fault == "");
    CHECK(text_of(code) == expected);
  }
  CHECK(place.runs() == 1);
  Target other = kTarget;
  other.identity = "another";
  CHECK(compiled(module, other).fault == "");
  other.cpu = "";
  CHECK(text_of(compiled(module, other)) == "x86_64-pc-linux-gnu  \n" + std::to_string(module.size()) + "\n");
  CHECK(place.runs() == 3);
  CHECK(place.files() == 3);
  CHECK(open_files() == files);
}

TEST_CASE("a thread's last compilation is timed, and no other") {
  const Place place(kWorks);
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  std::uint64_t began = 0, ended = 0;
  CHECK(compiled(module, kTarget).fault == "");
  CHECK(__tgt_rtl_last_compilation(&began, &ended) != 0);
  CHECK(ended - began > 100'000'000); // the helper sleeps
  CHECK(compiled(module, kTarget).fault == "");
  CHECK(__tgt_rtl_last_compilation(&began, &ended) == 0); // the cache has it
  Target other = kTarget;
  other.identity = "another";
  std::thread([&] { CHECK(compiled(module, other).fault == ""); }).join();
  CHECK(__tgt_rtl_last_compilation(&began, &ended) == 0);
}

SCENARIO_OF(compiles_slowly) {
  const Place place(std::string("sleep 4; ") + kWorks);
  EXPECT(compiled(module_for("x86_64-pc-linux-gnu"), kTarget).fault.empty());
  return 0;
}

TEST_CASE("a line tells of an image that takes long to compile") {
  constexpr char kLine[] = "omptarget: omptool lower is compiling a bitcode image for x86_64-pc-linux-gnu, and ends "
                           "after 600 s at most\n";
  Outcome quiet;
  std::thread beside([&] { quiet = run_scenario("compiles_slowly", {"OMPTOOL_QUIET=1"}); });
  const Outcome outcome = run_scenario("compiles_slowly");
  beside.join();
  CHECK(outcome.code == 0);
  CHECK(outcome.output == kLine);
  CHECK(quiet.code == 0);
  CHECK(quiet.output == "");
}

TEST_CASE("what is no bitcode is left as it is") {
  const Place place("");
  const std::vector<std::byte> image(100, std::byte{1});
  const Compiled code = compiled(image, kTarget);
  CHECK(code.fault == "");
  CHECK(code.bytes.data() == image.data());
  CHECK(fault_of(image, "x86_64", "it is nothing") == "it is nothing");
}

TEST_CASE("many who start at once compile once") {
  const Place place(kWorks);
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() == 0)
      ::_exit(compiled(module, kTarget).fault.empty() ? 0 : 1);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { CHECK(compiled(module, kTarget).fault == ""); });
  for (std::thread& thread : threads)
    thread.join();
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(place.runs() == 1);
  CHECK(place.files() == 1); // no lock stays
}

TEST_CASE("another library of the device's is another image") {
  const Place place(kWorks);
  const std::string library = place.folder() + "/cuda/nvvm/libdevice/libdevice.10.bc";
  fs::create_directories(fs::path(library).parent_path());
  const Set home("CUDA_HOME", place.folder() + "/cuda");
  const std::vector<std::byte> of_cpu = module_for("x86_64-pc-linux-gnu"), of_gpu = module_for("nvptx64");
  const Target gpu{"nvptx64-nvidia-cuda", "sm_90", ""};
  std::size_t gpu_runs = 0;
  for (const char* const content : {"", "first", "second"}) { // "": there is none
    if (*content)
      std::ofstream(library) << content;
    ++gpu_runs;
    for (int i = 0; i < 2; ++i) {
      CHECK(compiled(of_gpu, gpu).fault == "");
      CHECK(compiled(of_cpu, kTarget).fault == "");
      CHECK(place.runs() == gpu_runs + 1);
    }
  }
  fs::rename(place.folder() + "/cuda", place.folder() + "/moved");
  fs::create_directories(place.folder() + "/moved/bin");
  std::ofstream(place.folder() + "/moved/bin/ptxas") << "#!/bin/sh\n";
  fs::permissions(place.folder() + "/moved/bin/ptxas", fs::perms::owner_all);
  fs::create_symlink("../moved/bin/ptxas", place.folder() + "/bin/ptxas");
  CHECK(compiled(of_gpu, gpu).fault == ""); // by the assembler on PATH; the content is the same
  CHECK(place.runs() == gpu_runs + 1);
}

TEST_CASE("what is refused is not compiled again at once, and the reason is said again") {
  const Place place(kRefuses);
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  const std::string reason = "its bitcode is not compiled: line 1 is wrong";
  CHECK(compiled(module, kTarget).fault == reason);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(
        [&] { CHECK(compiled(module, kTarget).fault.starts_with(reason + " (omptool lower said so ")); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(place.runs() == 1);
  CHECK(place.files() == 1);
  Target other = kTarget;
  other.cpu = "another";
  CHECK(compiled(module, other).fault == reason);
  CHECK(place.runs() == 2);
  std::ofstream(place.helper(), std::ios::app) << "# another version\n";
  CHECK(compiled(module, kTarget).fault == reason);
  CHECK(place.runs() == 3);
}

TEST_CASE("a failure is forgotten after a while, and by a clock that was set back") {
  const Place place(kRefuses);
  const Cache cache(place.folder() + "/cache");
  const std::string key(64, 'a');
  const auto at = [&](std::time_t now) { return Failures(cache, key, place.helper(), now); };
  CHECK(at(1000).store("it is odd") == "");
  CHECK(at(1007).find() == "it is odd (omptool lower said so 7 s ago; it is asked again 593 s from now)");
  CHECK(at(1599).find() != "");
  CHECK(at(1600).find() == "");
  CHECK(at(999).find() == "");
  CHECK(Failures(cache, std::string(64, 'b'), place.helper(), 1000).find() == "");
}

TEST_CASE("a helper that fails for another reason is quoted, and nothing is kept") {
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  const std::pair<const char*, const char*> cases[] = {
      {"echo \"Error: there is no ld\" >&2; exit 3", "there is no ld"},
      {"kill -9 $$", "omptool lower was ended by signal 9"},
      {"exit 2", "omptool lower ended with exit code 2"},
      {"exit 3", "omptool lower ended with exit code 3"},
      {"exit 0", "omptool lower ended without an image and without a reason"}};
  for (const auto& [script, reason] : cases) {
    const Place place(script);
    CHECK(compiled(module, kTarget).fault == std::string("its bitcode is not compiled: ") + reason);
    CHECK(place.files() == 0);
  }
}

TEST_CASE("a program's signals are left alone") {
  const Place place(kWorks);
  struct sigaction ignored{}, before{};
  ignored.sa_handler = SIG_IGN; // its children are waited for by nobody
  ::sigaction(SIGCHLD, &ignored, &before);
  const Compiled code = compiled(module_for("x86_64-pc-linux-gnu"), kTarget);
  struct sigaction after{};
  ::sigaction(SIGCHLD, &before, &after);
  CHECK(code.fault == "");
  CHECK((after.sa_handler == SIG_IGN));
}

TEST_CASE("what keeps bitcode from being compiled is said before it is taken") {
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  {
    const Place place(kWorks);
    CHECK(fault_of(module, "x86_64", "") == "");
    CHECK(fault_of(module, "nvptx64", "") == "it is bitcode for x86_64-pc-linux-gnu");
    CHECK(fault_of(Bytes(module).first(20), "x86_64", "") == "it is bitcode that names no target");
    CHECK(place.runs() == 0);
  }
  const Place place("");
  const std::string missing =
      "omptool, which would compile its bitcode, is neither installed beside the runtime nor on PATH";
  CHECK(fault_of(module, "x86_64", "") == missing);
  CHECK(compiled(module, kTarget).fault == "its bitcode is not compiled: " + missing);
  const Set nowhere("OMPTOOL_CACHE_DIR", "cache");
  CHECK(fault_of(module, "x86_64", "") == "OMPTOOL_CACHE_DIR=cache is not an absolute path");
}

TEST_CASE("the folder is the user's own where nothing names one") {
  const Place place(kWorks);
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  const Set own("OMPTOOL_CACHE_DIR", "");
  const Set home("HOME", place.folder() + "/home");
  const Set relative("XDG_CACHE_HOME", "cache"); // is ignored
  CHECK(compiled(module, kTarget).fault == "");
  CHECK(!fs::is_empty(place.folder() + "/home/.cache/omptool"));
  const Set shared("XDG_CACHE_HOME", place.folder() + "/shared");
  CHECK(compiled(module, kTarget).fault == "");
  CHECK(!fs::is_empty(place.folder() + "/shared/omptool"));
  const Set homeless("HOME", ""), none("XDG_CACHE_HOME", "");
  CHECK(compiled(module, kTarget).fault == "its bitcode is not compiled: there is no folder for compiled images: "
                                           "neither OMPTOOL_CACHE_DIR nor HOME names one");
}
