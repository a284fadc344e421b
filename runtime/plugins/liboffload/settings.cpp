// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace omptool::liboffload {
namespace {

std::vector<std::uint32_t> read_backends() {
  const std::vector<std::uint32_t> usual{OL_BACKEND_AMDGPU};
  const char* const value = ::secure_getenv("OMPTOOL_LIBOFFLOAD");
  if (!value || !*value)
    return usual;
  std::vector<std::uint32_t> all;
  std::istringstream words(value);
  for (std::string word; std::getline(words, word, ',');) {
    const bool any = word == "all";
    if (any || word == "amd")
      all.push_back(OL_BACKEND_AMDGPU);
    if (any || word == "level_zero")
      all.push_back(OL_BACKEND_LEVEL_ZERO);
    if (any || word == "cuda")
      all.push_back(OL_BACKEND_CUDA);
    if (any || word == "amd" || word == "level_zero" || word == "cuda")
      continue;
    std::fprintf(stderr,
                 "omptarget: the runtime ignores OMPTOOL_LIBOFFLOAD=%s; known values: all, or a list of amd, "
                 "level_zero, cuda\n",
                 value);
    return usual;
  }
  return all;
}

} // namespace

const std::vector<std::uint32_t>& wanted_backends() {
  static const std::vector<std::uint32_t> wanted = read_backends();
  return wanted;
}

bool is_wanted(std::uint32_t backend) {
  const std::vector<std::uint32_t>& wanted = wanted_backends();
  return std::find(wanted.begin(), wanted.end(), backend) != wanted.end();
}

std::string library_path() {
  const char* const path = ::secure_getenv("OMPTOOL_LIBOFFLOAD_PATH");
  return path ? path : "";
}

} // namespace omptool::liboffload
