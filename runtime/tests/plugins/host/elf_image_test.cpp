// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests images with any content: truncated and changed ones are detected, and never read past their end
// (AddressSanitizer checks that: each is in memory of exactly its size).
#include "elf_image.h"

#include "machine.h"

#include <cstring>
#include <doctest/doctest.h>
#include <elf.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace omptool::host;

namespace {

// Returns a sound shared object: headers with one segment and an entry section, no code.
std::vector<std::byte> sound() {
  constexpr std::size_t kNames = 0x100, kSections = 0x140, kEnd = kSections + 3 * sizeof(Elf64_Shdr);
  std::vector<std::byte> bytes(kEnd);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = omptool::machine::kElf;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = kSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  std::memcpy(bytes.data(), &header, sizeof header);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R;
  segment.p_filesz = segment.p_memsz = kEnd;
  std::memcpy(bytes.data() + header.e_phoff, &segment, sizeof segment);
  std::memcpy(bytes.data() + kNames, "\0omptarget_entries", 19);
  Elf64_Shdr sections[3]{};
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = kNames;
  sections[1].sh_size = 19;
  sections[2].sh_name = 1;
  sections[2].sh_flags = SHF_ALLOC;
  sections[2].sh_addr = 0x20;
  sections[2].sh_size = 48;
  std::memcpy(bytes.data() + kSections, sections, sizeof sections);
  return bytes;
}

// Returns such an object with a dynamic section behind all that is loaded.
std::vector<std::byte> with_dynamic(const std::vector<Elf64_Dyn>& entries) {
  std::vector<std::byte> bytes = sound();
  const Elf64_Half count = 2;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_phnum), &count, sizeof count);
  Elf64_Phdr segment{};
  segment.p_type = PT_DYNAMIC;
  segment.p_offset = bytes.size();
  segment.p_filesz = segment.p_memsz = entries.size() * sizeof(Elf64_Dyn);
  std::memcpy(bytes.data() + sizeof(Elf64_Ehdr) + sizeof segment, &segment, sizeof segment);
  const auto* const first = reinterpret_cast<const std::byte*>(entries.data());
  bytes.insert(bytes.end(), first, first + segment.p_filesz);
  return bytes;
}

std::string fault(const std::vector<std::byte>& bytes) {
  const auto exact = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  const omptool::Bytes image(exact.get(), bytes.size());
  entry_table(image);
  readable_from(image, 0x20);
  own_definitions_first(image);
  const char* found = fault_of(image);
  return found ? found : "";
}

template <typename Field> std::vector<std::byte> with(std::size_t offset, Field value) {
  std::vector<std::byte> bytes = sound();
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

} // namespace

TEST_CASE("one wrong field of an image is named") {
  CHECK(fault(sound()) == "");
  const std::vector<std::byte> bytes = sound();
  REQUIRE(entry_table(bytes).has_value());
  CHECK(entry_table(bytes)->address == 0x20);
  CHECK(entry_table(bytes)->size == 48);
  CHECK(fault({}) == "it is not an ELF file");
  CHECK(fault(with(0, 'x')) == "it is not an ELF file");
  CHECK(fault(with<char>(EI_CLASS, ELFCLASS32)) == "it is not a 64-bit little-endian ELF file");
  CHECK(fault(with<Elf64_Half>(offsetof(Elf64_Ehdr, e_machine), EM_RISCV)) ==
        std::string("it is for a machine other than ") + omptool::machine::kArchitecture);
  CHECK(fault(with<Elf64_Half>(offsetof(Elf64_Ehdr, e_type), ET_REL)) == "it is not a shared object");
  CHECK(fault(with<Elf64_Half>(offsetof(Elf64_Ehdr, e_phnum), 0)) == "it has no program headers");
  CHECK(fault(with<Elf64_Half>(offsetof(Elf64_Ehdr, e_phnum), 0xffff)) == "its program headers run past its end");
  CHECK(fault(with<Elf64_Off>(offsetof(Elf64_Ehdr, e_phoff), ~0ULL)) == "its program headers run past its end");
  constexpr std::size_t kSegment = sizeof(Elf64_Ehdr);
  CHECK(fault(with<Elf64_Xword>(kSegment + offsetof(Elf64_Phdr, p_filesz), 0x10000)) ==
        "one of its segments runs past its end");
  CHECK(fault(with<Elf64_Off>(kSegment + offsetof(Elf64_Phdr, p_offset), ~0ULL)) ==
        "one of its segments runs past its end");
  CHECK(fault(with<Elf64_Xword>(kSegment + offsetof(Elf64_Phdr, p_memsz), 1)) ==
        "one of its segments has an impossible size");
  CHECK(fault(with<Elf64_Word>(kSegment + offsetof(Elf64_Phdr, p_type), PT_NOTE)) == "it has nothing to load");
}

TEST_CASE("an image whose end was lost is told from a whole one") {
  constexpr std::size_t kNames = 0x140 + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type);
  CHECK(fault(with<Elf64_Word>(kNames, 0)) == "its end is gone: no section headers are where its header says");
  CHECK(fault(with<Elf64_Off>(offsetof(Elf64_Ehdr, e_shoff), 0x10000)) ==
        "its end is gone: no section headers are where its header says");
  CHECK(fault(with<Elf64_Half>(offsetof(Elf64_Ehdr, e_shnum), 0)) == "");
  const Elf64_Dyn end{}, strings{DT_STRTAB, {0x100}}, size{DT_STRSZ, {0x20}}, symbols{DT_SYMTAB, {0x20}};
  CHECK(fault(with_dynamic({strings, size, symbols, end})) == "");
  CHECK(fault(with_dynamic({end, end, end})) == "its dynamic section is empty or cut off");
  CHECK(fault(with_dynamic({strings, size, end, symbols})) == "its dynamic section is empty or cut off");
  const auto with_part = [&](const Elf64_Dyn& address, const Elf64_Dyn& how_much) {
    return fault(with_dynamic({strings, size, symbols, address, how_much, end}));
  };
  CHECK(with_part({DT_RELA, {0x20}}, {DT_RELASZ, {48}}) == "");
  CHECK(with_part({DT_RELA, {0x20}}, {DT_RELASZ, {0x10000}}) == "its dynamic section leads out of it");
  CHECK(with_part({DT_INIT_ARRAY, {~0ULL}}, {DT_INIT_ARRAYSZ, {8}}) == "its dynamic section leads out of it");
  CHECK(with_part({DT_INIT_ARRAY, {~0ULL}}, {DT_INIT_ARRAYSZ, {0}}) == "");
  CHECK(with_part({DT_GNU_HASH, {0x20000}}, end) == "its dynamic section leads out of it");
}

TEST_CASE("an image's references are made its own where there is a place to say so") {
  const auto entry_for = [](const std::vector<Elf64_Dyn>& entries) {
    std::optional<DynamicEntry> entry = own_definitions_first(with_dynamic(entries));
    if (entry)
      entry->offset = (entry->offset - sound().size()) / sizeof(Elf64_Dyn);
    return entry;
  };
  const Elf64_Dyn end{}, needed{DT_NEEDED, {1}}, count{DT_RELACOUNT, {3}}, flags{DT_FLAGS, {DF_BIND_NOW}};
  CHECK(!own_definitions_first(sound()));
  CHECK(!entry_for({needed, end}));
  CHECK(!entry_for({needed, needed}));
  CHECK(!entry_for({needed, end, needed}));
  CHECK(!entry_for({{DT_SYMBOLIC, {0}}, count, end, end}));
  CHECK(!entry_for({count, {DT_FLAGS, {DF_SYMBOLIC}}, end, end}));
  REQUIRE(entry_for({needed, end, end}));
  CHECK(entry_for({needed, end, end})->offset == 1);
  CHECK(entry_for({needed, end, end})->tag == DT_SYMBOLIC);
  REQUIRE(entry_for({needed, count, end}));
  CHECK(entry_for({needed, count, end})->offset == 1);
  REQUIRE(entry_for({count, flags, end, end}));
  CHECK(entry_for({count, flags, end, end})->offset == 1);
  CHECK(entry_for({count, flags, end, end})->value == (DF_BIND_NOW | DF_SYMBOLIC));
}

TEST_CASE("truncated and changed images are read within their bounds") {
  const std::vector<std::byte> whole = sound();
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(fault({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}) != "");
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = whole;
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    fault(bytes);
  }
}
