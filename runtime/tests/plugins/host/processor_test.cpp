// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "processor.h"

#include <doctest/doctest.h>
#include <sstream>
#include <string>

using namespace omptool::host;

namespace {

const std::string kIntel =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
    "model name\t: Intel(R) Xeon(R)\ncpu MHz\t\t: 2100.000\nflags\t\t: fpu avx512f\n\nprocessor\t: 1\n";

// Returns text as an AArch64 kernel writes it, without a line for the name.
std::string arm(const std::string& features, const std::string& part) {
  return "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: " + features +
         "\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: " + part +
         "\nCPU revision\t: 0\n\nprocessor\t: 1\n";
}

std::string name(const std::string& text) {
  std::istringstream stream(text);
  return processor_name(stream);
}

std::string identity(const std::string& text) {
  std::istringstream stream(text);
  return processor_identity(stream);
}

} // namespace

TEST_CASE("a processor has the name that the kernel has for it, or its maker") {
  CHECK(name(kIntel) == "Intel(R) Xeon(R)");
  CHECK(name(arm("fp sve2", "0xd4f")) == "Neoverse V2");
  CHECK(name(arm("fp", "0xd99")) == "implementer 0x41, part 0xd99");
  CHECK(name("") == "");
}

TEST_CASE("processors for which code differs have identities that differ") {
  CHECK(identity(kIntel) ==
        "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\n"
        "flags\t\t: fpu avx512f\n");
  CHECK(identity(arm("fp sve2", "0xd4f")) == identity(arm("fp sve2", "0xd4f")));
  CHECK(identity(arm("fp sve2", "0xd4f")) != identity(arm("fp", "0xd4f")));
  CHECK(identity(arm("fp", "0xd4f")) != identity(arm("fp", "0xd40")));
  CHECK(identity(arm("fp", "0xd4f")).find("BogoMIPS") == std::string::npos);
}
