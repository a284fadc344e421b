// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The section .comment of images that may be anything: never read past their end (AddressSanitizer
// watches: each is in memory of exactly its size).
#include "abi/llvm/compilers.h"

#include <cstring>
#include <doctest/doctest.h>
#include <elf.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace omptool::llvm;
using omptool::KernelForm;
using namespace std::string_literals;

namespace {

// A file with two sections: the names and, last in the file, .comment.
std::vector<std::byte> image_with(const std::string& comment) {
  constexpr std::size_t kNames = 0x40, kSections = 0x60, kComment = kSections + 3 * sizeof(Elf64_Shdr);
  std::vector<std::byte> bytes(kComment + comment.size());
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = kSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + kNames, "\0.comment", 10);
  Elf64_Shdr sections[3]{};
  sections[1].sh_type = sections[2].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = kNames;
  sections[1].sh_size = 10;
  sections[2].sh_name = 1;
  sections[2].sh_offset = kComment;
  sections[2].sh_size = comment.size();
  std::memcpy(bytes.data() + kSections, sections, sizeof sections);
  std::memcpy(bytes.data() + kComment, comment.data(), comment.size());
  return bytes;
}

std::string compilers(const std::vector<std::byte>& bytes, std::size_t size) {
  const auto exact = std::make_unique<std::byte[]>(size);
  std::memcpy(exact.get(), bytes.data(), size);
  return std::string(compilers_of({exact.get(), size}));
}

} // namespace

TEST_CASE("an image says who compiled it") {
  const std::string said = "GCC: (Debian 12.2.0) 12.2.0\0Debian clang version 16.0.6\0"s;
  const std::vector<std::byte> bytes = image_with(said);
  CHECK(compilers(bytes, bytes.size()) == said);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(compilers(bytes, size).empty());
}

TEST_CASE("the clangs among the compilers are found, with their versions") {
  const Clangs clangs = clangs_in(
      "GCC: (Debian 12.2.0) 12.2.0\0AMD clang version 23.0.0git (of somebody)\0clang version 17.0.1\0Linker: LLD 23.1.4"s);
  CHECK(clangs.oldest == 17);
  CHECK(clangs.newest == 23);
  CHECK(clangs.name() == "clang 23.0.0git");
  CHECK(clangs_in("GCC: (Debian 12.2.0) 16.0.6").name().empty());
  CHECK(clangs_in("clang version ").newest == 0);
  CHECK(clangs_in("clang version git").newest == 0);
  CHECK(clangs_in("clang version 99999999999999999999").newest > 0); // and nothing overflows
  CHECK(clangs_in(std::string("clang version 24") + std::string(1000, '0')).name().size() < 50);
}

TEST_CASE("how kernels are called is known where all of an image's compilers agree") {
  const auto form = [](std::string_view compilers) { return form_of(clangs_in(compilers)); };
  CHECK(form("") == KernelForm::kAsCalled);
  CHECK(form("GCC: (Debian 12.2.0) 23.0.6") == KernelForm::kAsCalled);
  CHECK(form("clang version 14.0.6\0clang version 17.0.1"s) == KernelForm::kWithoutEnvironment);
  CHECK(form("clang version 18.1.8\0clang version 22.1.0"s) == KernelForm::kRegisters);
  CHECK(form("clang version 23.1.4\0clang version 24.0.0"s) == KernelForm::kArray);
  CHECK(form("clang version 17.0.6\0clang version 18.1.8"s) == KernelForm::kAsCalled);
  CHECK(form("clang version 22.1.0\0clang version 23.1.4"s) == KernelForm::kAsCalled);
}

TEST_CASE("kernels of clang 15 to 17 have no environment, unless 18 is there, too") {
  const auto is_old = [](std::string_view compilers) { return clangs_in(compilers).is_before_18(); };
  CHECK(is_old("clang version 16.0.6"));
  CHECK(is_old("clang version 19.1.7\0clang version 17.0.1"s));
  CHECK_FALSE(is_old("clang version 18.1.8\0clang version 17.0.1"s));
  CHECK_FALSE(is_old("clang version 19.1.7"));
  CHECK_FALSE(is_old("GCC: (Debian 12.2.0) 16.0.6"));
  CHECK_FALSE(is_old(""));
}

TEST_CASE("whatever bytes are changed, nothing outside is read") {
  const std::vector<std::byte> sound = image_with("clang version 16.0.6");
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = sound;
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = std::byte(random() % 3 ? random() : 0xff);
    compilers(bytes, bytes.size());
  }
}
