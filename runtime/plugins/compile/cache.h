// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folder of compiled images: a file each, named after what it was made of and for. It is its user's alone, and
// holds no more than `most` bytes: what was not used for longest goes.
#pragma once

#include "bytes.h"
#include "file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omptool::compile {

// OMPTOOL_CACHE_DIR, else `omptool` in XDG_CACHE_HOME, else ~/.cache/omptool. "", and why: there is none.
std::string cache_folder(std::string& fault);
// Returns why the folder may not be used, or "". A folder that does not exist may be used: the cache makes it.
std::string fault_of_folder(const std::string& path);

class Cache {
public:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

  // Makes the folder if it does not exist.
  explicit Cache(std::string path, std::uint64_t most = kMost);
  const std::string& fault() const { return fault_; } // why it cannot be used, or ""

  // Returns the data stored under the key. Deletes a damaged file, and a file that another user may have written.
  std::optional<std::vector<std::byte>> find(const std::string& key) const;
  // Returns why the image could not be stored, or "".
  std::string store(const std::string& key, Bytes image) const;

  // Lock for one key, across processes. After kPatience, or on a file system without locks, the caller continues
  // without it.
  class Lock {
  public:
    Lock(const Cache& cache, const std::string& key);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    const Cache& cache_;
    const std::string name_;
    File file_;
  };

  // Workplace: a folder in the cache for files in the making. The destructor removes it and its files.
  class Workplace {
  public:
    explicit Workplace(const Cache& cache);
    ~Workplace();
    Workplace(const Workplace&) = delete;
    Workplace& operator=(const Workplace&) = delete;

    const std::string& fault() const { return fault_; }
    std::string path(const std::string& file) const { return cache_.path_ + "/" + name_ + "/" + file; }
    // Returns why the file could not be written, or "".
    std::string write(const std::string& file, Bytes first, Bytes second = {}) const;
    std::optional<std::vector<std::byte>> read(const std::string& file) const;
    bool move(const std::string& file, const std::string& key) const; // to the cache

  private:
    const Cache& cache_;
    std::string name_;
    std::string fault_;
    File folder_{-1};
  };

private:
  void trim(const std::string& kept) const;

  std::string path_;
  std::uint64_t most_;
  std::string fault_;
  File folder_{-1};
};

} // namespace omptool::compile
