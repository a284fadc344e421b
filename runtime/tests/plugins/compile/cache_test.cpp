// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compile/cache.h"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace omptool::compile;

namespace {

// Own folder of this process: the program runs twice at the same time, directly and over the queue.
class OwnFolder {
public:
  ~OwnFolder() { fs::remove_all(path); }
  const std::string path = TEST_FOLDER "/cache-" + std::to_string(::getpid());
};

std::string fresh_folder() {
  static const OwnFolder folder;
  fs::remove_all(folder.path);
  return folder.path;
}

std::string key_for(char letter) {
  return std::string(64, letter);
}

std::vector<std::byte> content(std::size_t size) {
  return std::vector<std::byte>(size, std::byte{7});
}

unsigned mode_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777u : 0;
}

// Changes one byte, of the file's end for negative places.
void damage(const std::string& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
  const char changed = static_cast<char>(file.get() ^ 1);
  file.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
  file.put(changed);
}

} // namespace

TEST_CASE("what is stored is found, by its key alone, and is its user's alone") {
  const std::string folder = fresh_folder() + "/below/it";
  const Cache cache(folder);
  REQUIRE(cache.fault() == "");
  CHECK(!cache.find(key_for('a')));
  REQUIRE(cache.store(key_for('a'), content(1000)) == "");
  CHECK(cache.find(key_for('a')) == content(1000));
  CHECK(!cache.find(key_for('b')));
  CHECK(mode_of(folder) == 0700);
  CHECK(mode_of(folder + "/" + key_for('a')) == 0600);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  fs::rename(folder + "/" + key_for('a'), folder + "/" + key_for('b'));
  CHECK(!cache.find(key_for('b')));
}

TEST_CASE("a damaged file is not used, and goes") {
  const std::string folder = fresh_folder();
  const Cache cache(folder);
  const std::string path = folder + "/" + key_for('a');
  for (const std::streamoff at : {0, 8, 20, 48, -1}) {
    REQUIRE(cache.store(key_for('a'), content(100)) == "");
    damage(path, at);
    CHECK(!cache.find(key_for('a')));
    CHECK(!fs::exists(path));
  }
  for (const std::uintmax_t size : {0u, 10u, 48u, 147u, 149u}) {
    REQUIRE(cache.store(key_for('a'), content(100)) == "");
    fs::resize_file(path, size);
    CHECK(!cache.find(key_for('a')));
  }
}

TEST_CASE("a file that others may read or write, or that is none, is not used") {
  const std::string folder = fresh_folder();
  const Cache cache(folder);
  const std::string path = folder + "/" + key_for('a');
  for (const fs::perms more : {fs::perms::group_read, fs::perms::others_write}) {
    REQUIRE(cache.store(key_for('a'), content(100)) == "");
    fs::permissions(path, more, fs::perm_options::add);
    CHECK(!cache.find(key_for('a')));
  }
  REQUIRE(cache.store(key_for('b'), content(100)) == "");
  fs::create_symlink(key_for('b'), path);
  CHECK(!cache.find(key_for('a')));
  ::mkfifo(path.c_str(), 0600); // nobody waits for who writes to it
  CHECK(!cache.find(key_for('a')));
}

TEST_CASE("a folder that others may write to is refused, by its name") {
  const std::string folder = fresh_folder();
  CHECK(fault_of_folder(folder) == ""); // it would be made
  fs::create_directory(folder);
  for (const fs::perms more : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(folder, fs::perms::owner_all | more);
    CHECK(Cache(folder).fault() == "others may write to the folder " + folder);
    CHECK(fault_of_folder(folder) == "others may write to the folder " + folder);
  }
  fs::remove(folder);
  std::ofstream(folder).put('x');
  CHECK(Cache(folder).fault() == "the folder for compiled images, " + folder + ": Not a directory");
  CHECK(fault_of_folder(folder) == folder + " is no folder");
  fs::remove(folder);
}

TEST_CASE("what was not used for longest goes when there is too much") {
  const std::string folder = fresh_folder();
  const Cache cache(folder, 3500);
  const auto last_used = [&](char letter, int hours) {
    fs::last_write_time(folder + "/" + key_for(letter), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const char letter : {'a', 'b', 'c'}) {
    REQUIRE(cache.store(key_for(letter), content(1000)) == "");
    last_used(letter, letter == 'a' ? 30 : 20);
  }
  CHECK(cache.find(key_for('a'))); // used now
  last_used('b', 10);
  fs::create_directory(folder + "/build-1-1"); // of a process that was killed
  std::ofstream(folder + "/build-1-1/made").put('x');
  fs::last_write_time(folder + "/build-1-1", fs::file_time_type::clock::now() - std::chrono::hours(25));
  REQUIRE(cache.store(key_for('d'), content(1000)) == "");
  CHECK(!fs::exists(folder + "/build-1-1"));
  CHECK(cache.find(key_for('a')));
  CHECK(cache.find(key_for('b')));
  CHECK(!cache.find(key_for('c')));
  CHECK(cache.find(key_for('d')));
  REQUIRE(cache.store(key_for('e'), content(5000)) == ""); // more than all may be: it stays until the next
  CHECK(cache.find(key_for('e')));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
}
