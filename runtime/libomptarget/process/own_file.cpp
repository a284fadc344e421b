// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/own_file.h"

#include <climits>
#include <cstddef>
#include <dlfcn.h>
#include <unistd.h>

namespace omptool {

std::string own_path() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&own_path), &here) && here.dli_fname && *here.dli_fname) {
    std::string path = here.dli_fname;
    if (path.find('/') != std::string::npos)
      return path;
  }
  char target[PATH_MAX]; // a program that was found on PATH
  const ssize_t size = ::readlink("/proc/self/exe", target, sizeof target);
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : std::string("./libomptarget.so");
}

std::string own_folder() {
  const std::string path = own_path();
  return path.substr(0, path.rfind('/'));
}

} // namespace omptool
