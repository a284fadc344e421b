// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches for NVIDIA's libdevice in the folders of packager/lowering/libdevice.py, in the same order. `omptool lower`
// uses the first file that it finds. All files are hashed: a difference between the two searches then changes the hash,
// as long as this search covers at least the same folders.
#include "device_library.h"

#include "file.h"
#include "sha256.h"

#include <cstdlib>
#include <fcntl.h>
#include <glob.h>
#include <set>
#include <sys/stat.h>
#include <vector>

namespace omptool::compile {
namespace {

using Folders = std::vector<std::string>;

// Appends the folders that match the pattern (glob(7)), the last first.
void add_matching(const std::string& pattern, Folders& folders) {
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    std::set<std::string> sorted(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    folders.insert(folders.end(), sorted.rbegin(), sorted.rend());
  }
  ::globfree(&found);
}

// Escapes the characters that glob(7) would expand.
std::string literally(const std::string& path) {
  std::string pattern;
  for (const char letter : path) {
    if (letter == '*' || letter == '?' || letter == '[' || letter == '\\')
      pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

// Returns the folder two levels above a symlink's target: PREFIX of PREFIX/bin/tool. Returns "" if there is none.
std::string prefix_of(const std::string& tool) {
  char* const real = ::realpath(tool.c_str(), nullptr);
  std::string path = real ? real : "";
  std::free(real);
  for (int i = 0; i < 2; ++i)
    path.erase(std::min(path.rfind('/'), path.size()));
  return path;
}

void add_of_path(Folders& folders) {
  const char* const path = ::secure_getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string tool = std::string(rest.substr(0, end)) + "/ptxas";
    if (const std::string prefix = prefix_of(tool); !prefix.empty() && ::access(tool.c_str(), X_OK) == 0)
      return folders.push_back(prefix);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

Folders toolkits(const std::string& helper) {
  Folders folders;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const value = ::secure_getenv(name); value && *value)
      folders.push_back(value);
  add_of_path(folders);
  folders.insert(folders.end(), {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit"});
  add_matching("/usr/local/cuda-*", folders);
  if (const std::string prefix = prefix_of(helper); !prefix.empty())
    add_matching(literally(prefix) + "/lib/python*/*-packages/nvidia/cu*", folders);
  return folders;
}

void add_content(const std::string& path, std::set<std::pair<dev_t, ino_t>>& seen, Sha256& hash) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode))
    return;
  if (!seen.insert({status.st_dev, status.st_ino}).second)
    return; // one toolkit has several names
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (!file.read(bytes))
    bytes.clear(); // the helper cannot read it, either
  hash.add(std::as_bytes(std::span(&status.st_size, 1)));
  hash.add(bytes);
}

} // namespace

std::string identity_of_libraries(const std::string& triple, const std::string& helper) {
  if (!triple.starts_with("nvptx64"))
    return {};
  Sha256 hash;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const std::string& folder : toolkits(helper))
    for (const char* const below : {"/nvvm/libdevice", "/libdevice"})
      add_content(folder + below + "/libdevice.10.bc", seen, hash);
  return seen.empty() ? "none" : in_hexadecimal(hash.finish());
}

} // namespace omptool::compile
