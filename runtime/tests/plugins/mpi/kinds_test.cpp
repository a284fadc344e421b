// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine.h"
#include "mpi/image_kind.h"

#include <cstring>
#include <doctest/doctest.h>
#include <elf.h>
#include <string>
#include <vector>

using namespace omptool::mpi;

namespace {

ImageKind kind_of_text(const std::string& text) {
  return kind_of(std::as_bytes(std::span(text)));
}

ImageKind kind_of_elf(Elf64_Half machine) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = machine;
  return kind_of(std::as_bytes(std::span(&header, 1)));
}

} // namespace

TEST_CASE("images are told from each other by their first bytes") {
  CHECK(kind_of_elf(omptool::machine::kElf) == ImageKind::kCpu);
  CHECK(kind_of_elf(EM_CUDA) == ImageKind::kCuda);
  CHECK(kind_of_elf(omptool::machine::kElf == EM_AARCH64 ? EM_X86_64 : EM_AARCH64) == ImageKind::kUnknown);
  CHECK(kind_of_text("//\n// made by a compiler\n//\n.version 7.0\n") == ImageKind::kCuda);
  CHECK(kind_of_text("\x50\xed\x55\xba fat") == ImageKind::kCuda);
  CHECK(kind_of_text("\x03\x02\x23\x07 more") == ImageKind::kSpirv);
  CHECK(kind_of_text("BC\xc0\xde more") == ImageKind::kBitcode);
  for (const char* const other : {"", "B", "text",
                                  "\x7f"
                                  "ELF"})
    CHECK(kind_of_text(other) == ImageKind::kUnknown);
}

TEST_CASE("a worker's plugin gets no image that it certainly does not take") {
  CHECK(may_take("host", ImageKind::kCpu));
  CHECK_FALSE(may_take("host", ImageKind::kCuda));
  CHECK(may_take("cuda", ImageKind::kCuda));
  CHECK_FALSE(may_take("cuda", ImageKind::kSpirv));
  CHECK(may_take("opencl", ImageKind::kSpirv));
  CHECK(may_take("somebodys", ImageKind::kUnknown));
}
