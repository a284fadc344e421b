// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cache.h"

#include "private_folder.h"
#include "sha256.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

namespace omptool::compile {
namespace {

constexpr char kMagic8[] = "omptool1";
constexpr std::size_t kKeyLength = 64;
constexpr std::string_view kWorkplaces = "build-";
constexpr std::time_t kForgotten = 24 * 60 * 60; // seconds: a workplace whose process was killed

// Header in front of the image in a file of the cache.
struct Header {
  std::array<char, 8> magic;
  std::uint64_t size;
  Sha256::Digest digest; // of the key and the image
};

Header header_of(const std::string& key, Bytes image) {
  Header header{{}, image.size(), {}};
  std::memcpy(header.magic.data(), kMagic8, header.magic.size());
  Sha256 hash;
  hash.add(key);
  hash.add(image);
  header.digest = hash.finish();
  return header;
}

std::string why_not(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

bool make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0700); // most are there
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

std::optional<std::vector<std::byte>> read_file(int folder, const std::string& name) {
  const File file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (!file.read(bytes))
    return std::nullopt;
  ::futimens(file.number(), nullptr); // it is used
  return bytes;
}

struct Entry {
  std::string name;
  std::uint64_t size;
  struct timespec used;
  bool operator<(const Entry& other) const {
    return std::pair(used.tv_sec, used.tv_nsec) < std::pair(other.used.tv_sec, other.used.tv_nsec);
  }
};

// Calls `use` with each file's name and status.
template <typename Use> void for_each_file(int folder, const Use& use) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> list(copy < 0 ? nullptr : ::fdopendir(copy), close);
  while (const dirent* const entry = list ? ::readdir(list.get()) : nullptr) {
    struct stat status{};
    if (::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      use(std::string(entry->d_name), status);
  }
}

void remove_workplace(int folder, const std::string& name) {
  if (const File inside(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)); inside)
    for_each_file(inside.number(), [&](const std::string& file, const struct stat& status) {
      if (!S_ISDIR(status.st_mode))
        ::unlinkat(inside.number(), file.c_str(), 0);
    });
  ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

bool is_key(const std::string& name) {
  return name.size() == kKeyLength && name.find_first_not_of("0123456789abcdef") == name.npos;
}

} // namespace

std::string cache_folder(std::string& fault) {
  const char* const own = ::secure_getenv("OMPTOOL_CACHE_DIR");
  const char* const shared = ::secure_getenv("XDG_CACHE_HOME");
  const char* const home = ::secure_getenv("HOME");
  if (own && *own == '/')
    return own;
  fault = std::string("OMPTOOL_CACHE_DIR=") + (own ? own : "") + " is not an absolute path";
  if (own && *own)
    return {};
  fault = "there is no folder for compiled images: neither OMPTOOL_CACHE_DIR nor HOME names one";
  if (shared && *shared == '/') // others are to be ignored, says the XDG Base Directory Specification
    return std::string(shared) + "/omptool";
  return home && *home == '/' ? std::string(home) + "/.cache/omptool" : std::string();
}

std::string fault_of_folder(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return errno == ENOENT ? std::string() : why_not(path);
  return fault_of_open_folder(path, status);
}

Cache::Cache(std::string path, std::uint64_t most) : path_(std::move(path)), most_(most) {
  folder_ = File(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_ && errno == ENOENT && make_folders(path_))
    folder_ = File(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status{};
  if (!folder_ || ::fstat(folder_.number(), &status) != 0)
    fault_ = why_not("the folder for compiled images, " + path_);
  else
    fault_ = fault_of_open_folder(path_, status);
}

std::optional<std::vector<std::byte>> Cache::find(const std::string& key) const {
  std::optional<std::vector<std::byte>> bytes = read_file(folder_.number(), key);
  const std::optional<Header> header = bytes ? omptool::read<Header>(*bytes, 0) : std::nullopt;
  if (header && header->size == bytes->size() - sizeof(Header)) {
    const Header expected = header_of(key, Bytes(*bytes).subspan(sizeof(Header)));
    if (header->magic == expected.magic && header->digest == expected.digest) {
      bytes->erase(bytes->begin(), bytes->begin() + sizeof(Header));
      return bytes;
    }
  }
  ::unlinkat(folder_.number(), key.c_str(), 0);
  return std::nullopt;
}

std::string Cache::store(const std::string& key, Bytes image) const {
  const Workplace place(*this);
  const Header header = header_of(key, image);
  std::string fault = place.fault();
  if (fault.empty())
    fault = place.write("entry", std::as_bytes(std::span(&header, 1)), image);
  if (fault.empty() && !place.move("entry", key))
    fault = why_not(path_ + "/" + key);
  if (fault.empty())
    trim(key);
  return fault;
}

// Deletes old images. Another process may do the same at the same time, so a missing file is no error.
void Cache::trim(const std::string& kept) const {
  std::vector<Entry> entries;
  std::vector<std::string> forgotten;
  std::uint64_t total = 0;
  for_each_file(folder_.number(), [&](const std::string& name, const struct stat& status) {
    if (S_ISREG(status.st_mode) && is_key(name)) {
      entries.push_back({name, static_cast<std::uint64_t>(status.st_size), status.st_mtim});
      total += entries.back().size;
    }
    if (S_ISDIR(status.st_mode) && name.starts_with(kWorkplaces) &&
        status.st_mtim.tv_sec < ::time(nullptr) - kForgotten)
      forgotten.push_back(name);
  });
  for (const std::string& name : forgotten)
    remove_workplace(folder_.number(), name);
  std::sort(entries.begin(), entries.end());
  for (const Entry& entry : entries) {
    if (total <= most_)
      return;
    if (entry.name == kept)
      continue;
    ::unlinkat(folder_.number(), entry.name.c_str(), 0);
    total -= entry.size;
  }
}

// Waits for a limited time, because a child of fork() may keep the file open forever.
Cache::Lock::Lock(const Cache& cache, const std::string& key) : cache_(cache), name_(key + ".lock"), file_(-1) {
  constexpr std::chrono::seconds kPatience{700}; // `omptool lower` ends within 600
  constexpr std::chrono::milliseconds kPause{10};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (!file_)
      file_ = File(::openat(cache_.folder_.number(), name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file_)
      return;
    if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return;
      std::this_thread::sleep_for(kPause);
      continue;
    }
    struct stat status{};
    if (::fstat(file_.number(), &status) != 0 || status.st_nlink != 0)
      return;
    file_ = File(-1); // whoever had it has taken it away
  }
}

// Unlocks the file also for copies of the descriptor in child processes.
Cache::Lock::~Lock() {
  if (!file_)
    return;
  ::unlinkat(cache_.folder_.number(), name_.c_str(), 0);
  ::flock(file_.number(), LOCK_UN);
}

Cache::Workplace::Workplace(const Cache& cache) : cache_(cache) {
  static std::atomic<unsigned> count{0};
  constexpr int kTries = 1000; // processes of several machines, or containers, may have one number
  for (int i = 0; i < kTries; ++i) {
    name_ = std::string(kWorkplaces) + std::to_string(::getpid()) + "-" + std::to_string(count++);
    if (::mkdirat(cache_.folder_.number(), name_.c_str(), 0700) == 0) {
      folder_ = File(::openat(cache_.folder_.number(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
      break;
    }
    if (errno != EEXIST)
      break;
  }
  if (!folder_)
    fault_ = why_not(path(""));
}

Cache::Workplace::~Workplace() {
  if (folder_)
    remove_workplace(cache_.folder_.number(), name_);
}

std::string Cache::Workplace::write(const std::string& file, Bytes first, Bytes second) const {
  const File out(::openat(folder_.number(), file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  return out && out.write(first) && out.write(second) ? std::string() : why_not(path(file));
}

std::optional<std::vector<std::byte>> Cache::Workplace::read(const std::string& file) const {
  const int number = ::openat(folder_.number(), file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const File in(number);
  struct stat status{};
  if (!in || ::fstat(number, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
    return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  return in.read(bytes) ? std::optional(std::move(bytes)) : std::nullopt;
}

bool Cache::Workplace::move(const std::string& file, const std::string& key) const {
  return ::renameat(folder_.number(), file.c_str(), cache_.folder_.number(), key.c_str()) == 0;
}

} // namespace omptool::compile
