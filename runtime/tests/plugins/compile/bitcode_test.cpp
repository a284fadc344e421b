// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compile/bitcode.h"

#include "compile/sha256.h"
#include "module.h"

#include <algorithm>
#include <doctest/doctest.h>

using namespace omptool::compile;
using omptool::Bytes;

TEST_CASE("a module's triple is read past what comes before it, and no further than its bytes go") {
  const std::string triple = "spirv64v1.2-unknown-unknown";
  const std::vector<std::byte> module = module_for(triple);
  CHECK(is_bitcode(module));
  CHECK(triple_of(module) == triple);
  for (std::size_t size = 0; size < module.size(); ++size) {
    const std::string known = triple_of(Bytes(module).first(size));
    CHECK((known.empty() || known == triple));
  }
}

TEST_CASE("every changed byte of a module gives some triple or none") {
  const std::vector<std::byte> module = module_for("x86_64-pc-linux-gnu");
  for (std::size_t at = 0; at < module.size(); ++at)
    for (const std::byte change : {std::byte{0xFF}, std::byte{0x01}, std::byte{0x80}}) {
      std::vector<std::byte> changed = module;
      changed[at] ^= change;
      CHECK(triple_of(changed).size() <= 256);
    }
}

TEST_CASE("a module in its wrapper is found") {
  const std::vector<std::byte> module = module_for("nvptx64-nvidia-cuda");
  const std::uint32_t wrapper[4] = {0x0B17C0DE, 0, sizeof wrapper, static_cast<std::uint32_t>(module.size())};
  std::vector<std::byte> whole(sizeof wrapper);
  std::copy_n(std::as_bytes(std::span(wrapper)).begin(), sizeof wrapper, whole.begin());
  whole.insert(whole.end(), module.begin(), module.end());
  CHECK(is_bitcode(whole));
  CHECK(triple_of(whole) == "nvptx64-nvidia-cuda");
  whole.resize(whole.size() - 1);
  CHECK(triple_of(whole).empty());
}

TEST_CASE("SHA-256 gives what FIPS 180-4's examples give") {
  const auto hash_of = [](std::string_view text, std::size_t times) {
    Sha256 hash;
    for (std::size_t i = 0; i < times; ++i)
      hash.add(text);
    return in_hexadecimal(hash.finish());
  };
  CHECK(hash_of("", 1) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of("abc", 1) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash_of("aaaaaaaaaa", 100000) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
