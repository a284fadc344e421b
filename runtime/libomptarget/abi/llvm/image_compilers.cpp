// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/image_compilers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>

namespace omptool::llvm {
namespace {

// Linkers keep each string once, so that the section is short whatever the image's size.
constexpr std::uint64_t kMaxSections = 1024, kMaxComment = 1 << 16;

std::string_view content(Bytes image, const Elf64_Shdr& section, std::uint64_t from = 0) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > image.size() ||
      section.sh_size > image.size() - section.sh_offset || from > section.sh_size)
    return {};
  return {reinterpret_cast<const char*>(image.data()) + section.sh_offset + from, section.sh_size - from};
}

} // namespace

std::string_view compilers_of(Bytes image) {
  const std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return {};
  const std::optional<Elf64_Shdr> names = read_nth<Elf64_Shdr>(image, header->e_shoff, header->e_shstrndx);
  const std::uint64_t count = std::min<std::uint64_t>(header->e_shnum, kMaxSections);
  for (std::uint64_t i = 1; names && i < count; ++i) {
    const std::optional<Elf64_Shdr> candidate = read_nth<Elf64_Shdr>(image, header->e_shoff, i);
    if (!candidate)
      break;
    constexpr std::string_view kName{".comment\0", 9};
    if (content(image, *names, candidate->sh_name).starts_with(kName))
      return content(image, *candidate).substr(0, kMaxComment);
  }
  return {};
}

bool is_before_18(std::string_view compilers) {
  const auto names = [compilers](std::string_view what) { return compilers.find(what) != std::string_view::npos; };
  const bool is_old = names("clang version 15.") || names("clang version 16.") || names("clang version 17.");
  return is_old && !names("clang version 18.");
}

} // namespace omptool::llvm
