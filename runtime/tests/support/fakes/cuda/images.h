// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: names in PTX and cubins, and what variables begin with.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fake_cuda {

struct ImageNames {
  // The sizes of each kernel's parameters.
  std::map<std::string, std::vector<std::size_t>> kernels;
  std::map<std::string, std::vector<char>> variables;
};
ImageNames names_in_ptx(std::string_view text);
ImageNames names_in_cubin(std::string_view bytes);

} // namespace fake_cuda
