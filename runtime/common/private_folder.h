// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders that this user alone may write to: the runtime loads code from no others.
#pragma once

#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace omptool {

// Returns why the folder is not this user's alone, or "". `status` is that of the open folder: its name may lead to
// another folder by now.
inline std::string fault_of_open_folder(const std::string& path, const struct stat& status) {
  if (!S_ISDIR(status.st_mode))
    return path + " is no folder";
  if (status.st_uid != ::geteuid())
    return "the folder " + path + " belongs to another user";
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return "others may write to the folder " + path;
  return {};
}

} // namespace omptool
