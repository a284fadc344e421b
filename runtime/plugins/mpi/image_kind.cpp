// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image_kind.h"

#include "elf_file.h"
#include "machine.h"

#include <algorithm>
#include <cstdint>

namespace omptool::mpi {

ImageKind kind_of(Bytes image) {
  constexpr std::uint32_t kSpirv = 0x07230203, kBitcode = 0xdec04342, kFatBinary = 0xba55ed50;
  constexpr std::size_t kStart = 4096; // of PTX, which may begin with comments
  if (const std::optional<Elf64_Ehdr> header = elf_header(image))
    return header->e_machine == machine::kElf ? ImageKind::kCpu
           : header->e_machine == EM_CUDA     ? ImageKind::kCuda
                                              : ImageKind::kUnknown;
  const std::uint32_t magic = read<std::uint32_t>(image, 0).value_or(0);
  if (magic == kSpirv)
    return ImageKind::kSpirv;
  if (magic == kBitcode)
    return ImageKind::kBitcode;
  const std::string_view text(reinterpret_cast<const char*>(image.data()), std::min(image.size(), kStart));
  const bool is_cuda = magic == kFatBinary || text.find(".version") != std::string_view::npos;
  return is_cuda ? ImageKind::kCuda : ImageKind::kUnknown;
}

bool may_take(std::string_view plugin, ImageKind kind) {
  if (plugin == "host")
    return kind == ImageKind::kCpu || kind == ImageKind::kBitcode;
  if (plugin == "cuda")
    return kind == ImageKind::kCuda || kind == ImageKind::kBitcode;
  if (plugin == "opencl")
    return kind != ImageKind::kCpu && kind != ImageKind::kCuda;
  return true; // a plugin of somebody else's
}

} // namespace omptool::mpi
