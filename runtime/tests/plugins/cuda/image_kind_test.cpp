// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image_kind.h"

#include <array>
#include <cstring>
#include <doctest/doctest.h>
#include <elf.h>

using namespace omptool;
using namespace omptool::cuda;

namespace {

Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string cubin(unsigned char version, unsigned flags) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_ABIVERSION] = version;
  header.e_machine = EM_CUDA;
  header.e_flags = flags;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

// Returns a fat binary with entries of 64 bytes of header and 8 of payload.
std::string fatbin(const std::vector<Code>& codes) {
  std::string bytes("\x50\xed\x55\xba\x01\x00\x10\x00", 8);
  const std::uint64_t size = 72 * codes.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  for (const Code& code : codes) {
    std::string entry(72, '\0');
    entry[0] = code.is_ptx ? 1 : 2;
    entry[4] = 64;
    entry[8] = 8;
    std::memcpy(entry.data() + 28, &code.number, sizeof code.number);
    const std::uint64_t flags = code.variant == 'a' ? 0x100000 : code.variant == 'f' ? 0x200000 : 0;
    std::memcpy(entry.data() + 40, &flags, sizeof flags);
    bytes += entry;
  }
  return bytes;
}

const std::string kPtx = "//\n// made by /* hand */\n//\n/* two\nlines */ .version 8.0\n.target sm_90a, debug\n";

} // namespace

TEST_CASE("PTX begins with its version, behind blanks and comments") {
  CHECK(kind_of(bytes_of(kPtx)) == ImageKind::kPtx);
  CHECK(kind_of(bytes_of("\n\t .version 8.0\n.target sm_70")) == ImageKind::kPtx);
  CHECK(kind_of(bytes_of("// .version 8.0")) == ImageKind::kNone);
  CHECK(kind_of(bytes_of("/* .version 8.0")) == ImageKind::kNone);
  CHECK(kind_of(bytes_of("")) == ImageKind::kNone);
  CHECK(fault_of_bytes(bytes_of(kPtx)).empty());
  CHECK(fault_of_bytes(bytes_of(".version 8.0\n")) == "it is PTX without a target");
  CHECK(fault_of_bytes(bytes_of("text")) == "it is no PTX, no cubin and no CUDA fat binary");
}

TEST_CASE("the architecture of each kind of image is found") {
  const auto one = [](const std::string& bytes) {
    const std::vector<Code> codes = codes_of(bytes_of(bytes));
    REQUIRE(codes.size() == 1);
    return codes[0];
  };
  CHECK(one(kPtx).number == 90);
  CHECK(one(kPtx).variant == 'a');
  CHECK(one(kPtx).is_ptx);
  CHECK(one(cubin(7, 0x5a0550 | 0x400)).number == 0x50);
  CHECK(one(cubin(8, 0x06005a04)).number == 90);
  CHECK(one(cubin(8, 0x06005a04)).variant == '\0');
  CHECK(one(cubin(7, 0x5a0d5a)).variant == 'a');   // by ptxas 12
  CHECK(one(cubin(7, 0x3c0d3d)).variant == '\0');  // of cuBLAS 11, for sm_61
  CHECK(one(cubin(8, 0x0600640a)).variant == 'a'); // by ptxas 12.8
  const std::vector<Code> codes = codes_of(bytes_of(fatbin({{false, 70}, {true, 90, 'a'}})));
  REQUIRE(codes.size() == 2);
  CHECK(codes[0].number == 70);
  CHECK_FALSE(codes[0].is_ptx);
  CHECK(codes[1].variant == 'a');
  const std::vector<Code> family = codes_of(bytes_of(fatbin({{false, 100, 'f'}})));
  REQUIRE(family.size() == 1);
  CHECK(family[0].variant == 'f');
}

TEST_CASE("a record of ptxas 13 marks code for one architecture alone") {
  const std::string names("\0.nv.compat", 12);
  for (const char is_specific : {'\0', '\1'}) {
    const std::string records("\4\x0b\4\0\2\x9\1\0\2\x9", 10);
    std::string bytes = cubin(8, 0x06006702) + names + records + is_specific + '\0';
    std::array<Elf64_Shdr, 3> sections{};
    sections[1] = {0, SHT_STRTAB, 0, 0, sizeof(Elf64_Ehdr), names.size(), 0, 0, 0, 0};
    sections[2] = {1, SHT_LOPROC, 0, 0, sizeof(Elf64_Ehdr) + names.size(), records.size() + 2, 0, 0, 0, 0};
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.e_shoff = bytes.size();
    header.e_shnum = sections.size();
    header.e_shstrndx = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    bytes.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(reinterpret_cast<const char*>(sections.data()), sizeof sections);
    const std::vector<Code> codes = codes_of(bytes_of(bytes));
    REQUIRE(codes.size() == 1);
    CHECK(codes[0].number == 103);
    CHECK(codes[0].variant == (is_specific ? 'a' : '\0'));
  }
}

TEST_CASE("what runs where") {
  struct Case {
    Code code;
    int device;
    bool runs;
  };
  for (const Case& each :
       {Case{{false, 80}, 80, true}, Case{{false, 80}, 86, true}, Case{{false, 86}, 80, false},
        Case{{false, 80}, 90, false}, Case{{true, 70}, 90, true}, Case{{true, 90}, 80, false},
        Case{{true, 90, 'a'}, 90, true}, Case{{true, 90, 'a'}, 100, false}, Case{{false, 90, 'a'}, 90, true},
        Case{{true, 100, 'f'}, 103, true}, Case{{true, 100, 'f'}, 120, false}}) {
    CAPTURE(each.code.number);
    CAPTURE(each.device);
    CHECK(runs_on(each.code, each.device) == each.runs);
  }
}

TEST_CASE("an image for other GPUs is refused by name") {
  CHECK(fault_of(bytes_of(cubin(8, 0x06005a04)), {90}, 0).empty());
  CHECK(fault_of(bytes_of(cubin(8, 0x06005a04)), {80, 80, 75}, 0) == "the image is for sm_90, the GPU is sm_80, sm_75");
  CHECK(fault_of(bytes_of(fatbin({{false, 70}, {true, 90, 'a'}})), {80}, 0) ==
        "the image is for sm_70, PTX for sm_90a, the GPU is sm_80");
  CHECK(fault_of(bytes_of(fatbin({{false, 70}, {true, 70}})), {80}, 0).empty());
  CHECK(fault_of(bytes_of(fatbin({{true, 100, 'f'}})), {103}, 0).empty());
  CHECK(fault_of(bytes_of(fatbin({{false, 103, 'f'}, {true, 100, 'f'}})), {120}, 0) ==
        "the image is for sm_103f, PTX for sm_100f, the GPU is sm_120");
}

TEST_CASE("PTX that is too new for the driver is refused by both versions") {
  const auto fault = [](const std::string& version, int driver) {
    return fault_of(bytes_of(".version " + version + "\n.target sm_70\n"), {90}, driver);
  };
  CHECK(fault("8.7", 12040) == "the image is PTX 8.7, which needs a driver of CUDA 12.8; this one is of CUDA 12.4");
  CHECK(fault("8.5", 12040) == "the image is PTX 8.5, which needs a driver of CUDA 12.5; this one is of CUDA 12.4");
  CHECK(fault("9.0", 12090) == "the image is PTX 9.0, which needs a driver of CUDA 13.0; this one is of CUDA 12.9");
  CHECK(fault("7.8", 11020) == "the image is PTX 7.8, which needs a driver of CUDA 11.8; this one is of CUDA 11.2");
  for (const auto& [version, driver] :
       {std::pair{"8.7", 12080}, std::pair{"8.5", 12060}, std::pair{"8.4", 12040}, std::pair{"6.3", 11020},
        std::pair{"9.9", 0}, std::pair{"12.0", 13000}, std::pair{"", 12040}, std::pair{"8", 12000}})
    CHECK(fault(version, driver) == "");
}

TEST_CASE("damaged fat binaries end where their bytes do") {
  const std::string whole = fatbin({{false, 70}, {false, 80}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);
    CHECK(kind_of(bytes_of(part)) == ImageKind::kNone);
    CHECK(codes_of(bytes_of(part)).empty());
  }
  for (std::size_t at = 4; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = '\xff';
    CHECK(codes_of(bytes_of(damaged)).size() <= 2);
  }
}
