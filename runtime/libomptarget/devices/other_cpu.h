// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images for another CPU: that is the reason why no plugin accepts one, whatever each plugin says.
#pragma once

#include "bytes.h"

#include <elf.h>

#include <cstring>
#include <string>

namespace omptool {

// Returns the name of the CPU with this number in ELF headers; null for others.
inline const char* cpu_name(Elf64_Half machine) {
  switch (machine) {
  case EM_386:
    return "i386";
  case EM_AARCH64:
    return "aarch64";
  case EM_PPC64:
    return "ppc64le";
  case EM_RISCV:
    return "riscv64";
  case EM_S390:
    return "s390x";
  default:
    return nullptr;
  }
}

// Returns the fault of an image that is ELF code for another CPU; "" for every other image.
inline std::string fault_of_cpu(Bytes image) {
  const std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(image, 0);
  const bool is_elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
  const char* const other = is_elf ? cpu_name(header->e_machine) : nullptr;
  return other ? std::string("it is for ") + other + ", and this machine is x86_64" : std::string();
}

} // namespace omptool
