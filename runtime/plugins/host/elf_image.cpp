// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "elf_image.h"

#include "elf_file.h"
#include "machine.h"

#include <string>
#include <string_view>

namespace omptool::host {
namespace {

const char* for_another_machine() {
  static const std::string said = std::string("it is for a machine other than ") + machine::kArchitecture;
  return said.c_str();
}

// Entry sections: this project's, with names and without, and those of LLVM up to 19. Images of later LLVM export every
// name, so their tables are not needed.
constexpr struct {
  std::string_view section;
  std::uint64_t record;
} kTables[] = {{"omptarget_entries", 24}, {"libtarget_entries", kNamelessRecord}, {"omp_offloading_entries", 32}};

const char* fault_of_segment(Bytes image, const Elf64_Phdr& segment) {
  if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC)
    return nullptr;
  if (segment.p_offset > image.size() || segment.p_filesz > image.size() - segment.p_offset)
    return "one of its segments runs past its end";
  std::uint64_t end = 0;
  if (segment.p_filesz > segment.p_memsz || __builtin_add_overflow(segment.p_vaddr, segment.p_memsz, &end))
    return "one of its segments has an impossible size";
  return nullptr;
}

std::optional<Elf64_Phdr> segment_of(Bytes image, Elf64_Word type) {
  const std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(image, 0);
  for (std::uint64_t i = 0; header && i < header->e_phnum; ++i)
    if (const std::optional<Elf64_Phdr> segment = read_nth<Elf64_Phdr>(image, header->e_phoff, i);
        segment && segment->p_type == type)
      return segment;
  return std::nullopt;
}

// Returns whether the file is complete. Section headers come last; if the table of their names is missing, data before
// it may be missing, too.
bool has_its_end(Bytes image, const Elf64_Ehdr& header) {
  if (header.e_shnum == 0 || header.e_shstrndx == SHN_UNDEF || header.e_shstrndx == SHN_XINDEX)
    return true; // there are none, or more than this header counts
  const std::optional<Elf64_Shdr> names = read_nth<Elf64_Shdr>(image, header.e_shoff, header.e_shstrndx);
  return names && names->sh_type == SHT_STRTAB;
}

// Returns the value of an entry of the dynamic section.
std::optional<std::uint64_t> value_of(Bytes image, const Elf64_Phdr& dynamic, std::int64_t tag) {
  for (std::uint64_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
    const std::optional<Elf64_Dyn> entry = read_nth<Elf64_Dyn>(image, dynamic.p_offset, i);
    if (!entry || entry->d_tag == DT_NULL)
      break;
    if (entry->d_tag == tag)
      return entry->d_un.d_val;
  }
  return std::nullopt;
}

// Dynamic tags that the dynamic linker follows unchecked: the tag with the address, and the tag with the size.
constexpr std::int64_t kRelr = 36, kRelrSize = 35; // since glibc 2.36
constexpr std::int64_t kOneByte = DT_NULL;         // no entry has the size
constexpr struct {
  std::int64_t address, size;
} kFollowed[] = {{DT_STRTAB, DT_STRSZ},
                 {DT_SYMTAB, kOneByte},
                 {DT_HASH, kOneByte},
                 {DT_GNU_HASH, kOneByte},
                 {DT_VERSYM, kOneByte},
                 {DT_VERNEED, kOneByte},
                 {DT_VERDEF, kOneByte},
                 {DT_RELA, DT_RELASZ},
                 {DT_JMPREL, DT_PLTRELSZ},
                 {kRelr, kRelrSize},
                 {DT_INIT, kOneByte},
                 {DT_FINI, kOneByte},
                 {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                 {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};

// Returns the fault of the dynamic section. The dynamic linker itself reports an image without one.
const char* fault_of_dynamic(Bytes image) {
  const std::optional<Elf64_Phdr> dynamic = segment_of(image, PT_DYNAMIC);
  if (!dynamic)
    return nullptr;
  if (!value_of(image, *dynamic, DT_STRTAB) || !value_of(image, *dynamic, DT_SYMTAB))
    return "its dynamic section is empty or cut off";
  for (const auto& part : kFollowed) {
    const std::optional<std::uint64_t> at = value_of(image, *dynamic, part.address);
    const std::uint64_t size = part.size == kOneByte ? 1 : value_of(image, *dynamic, part.size).value_or(0);
    if (at && size > readable_from(image, *at))
      return "its dynamic section leads out of it";
  }
  return nullptr;
}

} // namespace

const char* fault_of(Bytes image) {
  const std::optional<Elf64_Ehdr> header = elf_header(image);
  if (!header)
    return "it is not an ELF file";
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return "it is not a 64-bit little-endian ELF file";
  if (header->e_machine != machine::kElf)
    return for_another_machine();
  if (header->e_type != ET_DYN)
    return "it is not a shared object";
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0)
    return "it has no program headers";
  bool loads = false;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const std::optional<Elf64_Phdr> segment = read_nth<Elf64_Phdr>(image, header->e_phoff, i);
    if (!segment)
      return "its program headers run past its end";
    if (const char* fault = fault_of_segment(image, *segment))
      return fault;
    loads = loads || segment->p_type == PT_LOAD;
  }
  if (!loads)
    return "it has nothing to load";
  return has_its_end(image, *header) ? fault_of_dynamic(image)
                                     : "its end is gone: no section headers are where its "
                                       "header says";
}

std::optional<TableLocation> entry_table(Bytes image) {
  std::uint64_t record = 0;
  const auto is_table = [&](std::string_view name, const Elf64_Shdr& section) {
    for (const auto& table : kTables)
      if ((section.sh_flags & SHF_ALLOC) && name == table.section)
        record = table.record;
    return record != 0;
  };
  const std::optional<Elf64_Shdr> section = find_section(image, is_table);
  return section ? std::optional(TableLocation{section->sh_addr, section->sh_size, record}) : std::nullopt;
}

std::uint64_t readable_from(Bytes image, std::uint64_t address) {
  const std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(image, 0);
  for (std::uint64_t i = 0; header && i < header->e_phnum; ++i) {
    const std::optional<Elf64_Phdr> segment = read_nth<Elf64_Phdr>(image, header->e_phoff, i);
    if (segment && segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && address >= segment->p_vaddr &&
        address - segment->p_vaddr < segment->p_memsz)
      return segment->p_memsz - (address - segment->p_vaddr);
  }
  return 0;
}

std::optional<DynamicEntry> own_definitions_first(Bytes image) {
  const std::optional<Elf64_Phdr> dynamic = segment_of(image, PT_DYNAMIC);
  std::optional<DynamicEntry> flags, hint, room;
  for (std::uint64_t i = 0; dynamic && !room && i < dynamic->p_filesz / sizeof(Elf64_Dyn); ++i) {
    const std::uint64_t offset = dynamic->p_offset + i * sizeof(Elf64_Dyn); // both less than the image's size
    const std::optional<Elf64_Dyn> entry = read<Elf64_Dyn>(image, offset);
    if (!entry || entry->d_tag == DT_SYMBOLIC || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_SYMBOLIC)))
      return std::nullopt;
    if (entry->d_tag == DT_FLAGS)
      flags = {offset, DT_FLAGS, entry->d_un.d_val | DF_SYMBOLIC};
    if (entry->d_tag == DT_RELACOUNT) // no linker needs it
      hint = {offset, DT_SYMBOLIC, 0};
    if (entry->d_tag == DT_NULL)
      room = {offset, DT_SYMBOLIC, 0};
  }
  if (flags || hint || !room)
    return flags ? flags : hint;
  const std::optional<Elf64_Dyn> end = read<Elf64_Dyn>(image, room->offset + sizeof(Elf64_Dyn));
  const bool inside = room->offset + 2 * sizeof(Elf64_Dyn) <= dynamic->p_offset + dynamic->p_filesz;
  return inside && end && end->d_tag == DT_NULL ? room : std::nullopt;
}

} // namespace omptool::host
