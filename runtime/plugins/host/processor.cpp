// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "processor.h"

#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <string_view>

namespace omptool::host {
namespace {

constexpr const char* kFile = "/proc/cpuinfo";

// Processors that the Linux kernel names by numbers alone: implementer and part.
constexpr struct {
  std::string_view implementer, part, name;
} kParts[] = {
    {"0x41", "0xd0c", "Neoverse N1"}, {"0x41", "0xd40", "Neoverse V1"}, {"0x41", "0xd49", "Neoverse N2"},
    {"0x41", "0xd4f", "Neoverse V2"}, {"0x46", "0x001", "A64FX"},       {"0xc0", "0xac3", "AmpereOne"},
};

// The value of a line "NAME : VALUE"; "" for a line of another name.
std::string value_of(const std::string& line, std::string_view name) {
  const std::size_t at = line.find(": ");
  return line.starts_with(name) && at != std::string::npos ? line.substr(at + 2) : "";
}

std::string name_of(const std::string& implementer, const std::string& part) {
  for (const auto& known : kParts)
    if (known.implementer == implementer && known.part == part)
      return std::string(known.name);
  return implementer.empty() ? "" : "implementer " + implementer + ", part " + part;
}

// Reads a part of the file once, for the first caller. Never freed, and no static object with a constructor: a child of
// fork() might find that object's initialisation lock held.
class ReadOnce {
public:
  const std::string& get(std::string (*read)(std::istream&)) {
    if (const std::string* const text = known_.load(std::memory_order_acquire))
      return *text;
    std::ifstream file(kFile);
    auto own = std::make_unique<const std::string>(read(file));
    const std::string* first = nullptr;
    return known_.compare_exchange_strong(first, own.get()) ? *own.release() : *first;
  }

private:
  std::atomic<const std::string*> known_{nullptr};
};

} // namespace

std::string processor_name(std::istream& cpuinfo) {
  std::string implementer, part;
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
    if (std::string name = value_of(line, "model name"); !name.empty())
      return name;
    implementer += value_of(line, "CPU implementer");
    part += value_of(line, "CPU part");
  }
  return name_of(implementer, part);
}

std::string processor_identity(std::istream& cpuinfo) {
  // "CPU " begins the lines of implementer, architecture, variant, part and revision, on AArch64.
  constexpr std::array<std::string_view, 6> kTelling{"vendor_id", "cpu family", "model", "flags", "CPU ", "Features"};
  std::string identity;
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) // the first, of processors that are alike
    for (const std::string_view name : kTelling)
      if (line.starts_with(name))
        identity += line + "\n";
  return identity;
}

const std::string& processor_name() {
  static constinit ReadOnce name;
  return name.get(processor_name);
}

const std::string& processor_identity() {
  static constinit ReadOnce identity;
  return identity.get(processor_identity);
}

} // namespace omptool::host
