// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Headers and sections of files in ELF64. The bytes may be anything: every offset and count is checked against them.
#pragma once

#include "bytes.h"

#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>

namespace omptool {

// Returns the ELF header, or nothing if the file is no ELF file.
inline std::optional<Elf64_Ehdr> elf_header(Bytes file) {
  const std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(file, 0);
  return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 ? header : std::nullopt;
}

inline std::string_view content_of(Bytes file, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > file.size() ||
      section.sh_size > file.size() - section.sh_offset)
    return {};
  return {reinterpret_cast<const char*>(file.data()) + section.sh_offset, section.sh_size};
}

// Returns the first section for which `is_meant(name, section)` is true.
template <typename IsMeant> std::optional<Elf64_Shdr> find_section(Bytes file, const IsMeant& is_meant) {
  const std::optional<Elf64_Ehdr> header = elf_header(file);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  const std::optional<Elf64_Shdr> strings = read_nth<Elf64_Shdr>(file, header->e_shoff, header->e_shstrndx);
  const std::string_view names = strings ? content_of(file, *strings) : std::string_view();
  for (std::uint64_t i = 1; i < header->e_shnum; ++i) {
    const std::optional<Elf64_Shdr> section = read_nth<Elf64_Shdr>(file, header->e_shoff, i);
    if (!section || section->sh_name >= names.size())
      continue;
    const std::string_view name = names.substr(section->sh_name);
    if (is_meant(name.substr(0, name.find('\0')), *section))
      return section;
  }
  return std::nullopt;
}

} // namespace omptool
