// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image_file.h"

#include "private_folder.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptool::host {
namespace {

// Open descriptors at most. Descriptor numbers belong to the program, so ours begin at a number that few programs
// reach.
constexpr int kMostOpen = 16;
constexpr int kFirstNumber = 512;
std::atomic<int> open_files{0};

bool write_image(const File& file, Bytes image, const std::optional<DynamicEntry>& changed) {
  if (!file || !file.write(image))
    return false;
  if (!changed)
    return true;
  const Elf64_Dyn entry{changed->tag, {changed->value}};
  return ::pwrite(file.number(), &entry, sizeof entry, static_cast<off_t>(changed->offset)) == sizeof entry;
}

// Returns a path that no image had before. The dynamic linker identifies an object by its path as spelled, and an
// object may stay loaded (-z nodelete, a unique symbol) when its descriptor is reused. So each bit of a serial number
// is spelled "/" or "/.", which name the same folder.
std::string path_of(const std::string& folder, int file) {
  static std::atomic<std::uint64_t> loads{0};
  std::string path = folder;
  for (std::uint64_t serial = ++loads; serial; serial >>= 1)
    path += serial & 1 ? "/." : "/";
  return path + "/" + std::to_string(file);
}

// Returns the folder of the image files. A debugger resolves the path in its own process: "/proc/self/fd/5" may be its
// terminal, which it would read forever.
std::string folder_of_files(bool stays_open) {
  if (stays_open)
    return "/proc/" + std::to_string(::getpid()) + "/fd";
  const long thread = ::syscall(SYS_gettid);                  // glibc has gettid() since 2.30
  return "/proc/self/task/" + std::to_string(thread) + "/fd"; // not there in the debugger's
}

// The inode of a file in memory; 0 for any other.
std::uint64_t inode_of(int number) {
  struct stat status{};
  return ::fcntl(number, F_GET_SEALS) >= 0 && ::fstat(number, &status) == 0 ? status.st_ino : 0;
}

// Returns the absolute path, because a debugger's current folder differs from the program's.
std::string whole_path(const char* folder) {
  char* const whole = ::realpath(folder, nullptr);
  std::string path = whole ? whole : folder;
  std::free(whole);
  return path;
}

// Returns why no image may be loaded from the folder, or "".
std::string fault_of(const File& folder, const std::string& path) {
  struct stat status{};
  if (!folder || ::fstat(folder.number(), &status) != 0)
    return path + ": " + std::strerror(errno);
  return fault_of_open_folder(path, status);
}

// Reports a fault once: a folder that cannot be used fails for each image.
void report_once(const std::string& fault) {
  static std::atomic<bool> is_reported{false};
  if (!is_reported.exchange(true))
    ::dprintf(STDERR_FILENO, "omptarget: the runtime keeps no images (OMPTOOL_KEEP_IMAGES): %s\n", fault.c_str());
}

} // namespace

std::optional<ImageFile> ImageFile::in_memory(Bytes image, const std::optional<DynamicEntry>& changed) {
  File file(::memfd_create("omptool device image", MFD_CLOEXEC));
  if (!write_image(file, image, changed))
    return std::nullopt;
  File high(open_files < kMostOpen ? ::fcntl(file.number(), F_DUPFD_CLOEXEC, kFirstNumber) : -1);
  const bool stays_open = static_cast<bool>(high);
  if (stays_open)
    file = std::move(high);
  std::string path = path_of(folder_of_files(stays_open), file.number());
  ImageFile made(std::move(file), std::move(path));
  if (stays_open) {
    ++open_files;
    made.inode_ = inode_of(made.file_.number());
  }
  return made;
}

std::optional<ImageFile> ImageFile::kept(Bytes image, const std::optional<DynamicEntry>& changed) {
  const char* const named = ::secure_getenv("OMPTOOL_KEEP_IMAGES");
  if (!named || !*named)
    return std::nullopt;
  const std::string path = whole_path(named);
  const File folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (const std::string fault = fault_of(folder, path); !fault.empty()) {
    report_once(fault);
    return std::nullopt;
  }
  static std::atomic<int> count{0};
  const std::string name = "omptool-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".so";
  ::unlinkat(folder.number(), name.c_str(), 0); // of an older process with this number; whoever runs it keeps it
  const File file(::openat(folder.number(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (write_image(file, image, changed))
    return ImageFile(File(-1), path + "/" + name);
  report_once(path + "/" + name + ": " + std::strerror(errno));
  if (file)
    ::unlinkat(folder.number(), name.c_str(), 0);
  return std::nullopt;
}

ImageFile::~ImageFile() {
  if (!inode_ || !file_)
    return;
  --open_files;
  // The program may have closed every descriptor, and this number may be its own by now.
  if (inode_of(file_.number()) != inode_)
    file_.forget();
}

void ImageFile::loaded() {
  if (!inode_)
    file_ = File(-1);
}

} // namespace omptool::host
