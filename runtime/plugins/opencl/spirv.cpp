// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spirv.h"

#include <cstring>
#include <map>

namespace omptool::opencl {
namespace {

constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeader = 5;                  // words
constexpr std::uint32_t kMostVersions = 0x0001FF00; // 1.0 and later

// The instructions that are looked at, and what is looked for in them (the specification of SPIR-V, 3).
enum Op : std::uint32_t {
  kEntryPoint = 15,
  kTypeInt = 21,
  kTypePointer = 32,
  kFunction = 54,
  kFunctionParameter = 55,
  kFunctionEnd = 56,
  kVariable = 59,
  kDecorate = 71
};
constexpr std::uint32_t kKernelModel = 6, kLinkageAttributes = 41, kExport = 0, kCrossWorkgroup = 5;

class Words {
public:
  explicit Words(Bytes bytes) : bytes_(bytes), swapped_(raw(0) != kMagic) {}
  std::size_t count() const { return bytes_.size() / sizeof(std::uint32_t); }
  std::uint32_t operator[](std::size_t i) const { return swapped_ ? __builtin_bswap32(raw(i)) : raw(i); }

  // A text from word `at` to word `end` at most, and the word behind it.
  std::string text(std::size_t at, std::size_t end, std::size_t& behind) const {
    std::string found;
    for (; at < end; ++at)
      for (unsigned byte = 0; byte < sizeof(std::uint32_t); ++byte) {
        const char next = static_cast<char>((*this)[at] >> (8 * byte));
        if (next == '\0') {
          behind = at + 1;
          return found;
        }
        found += next;
      }
    behind = end;
    return found;
  }

private:
  std::uint32_t raw(std::size_t i) const {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes_.data() + i * sizeof word, sizeof word);
    return word;
  }
  Bytes bytes_;
  bool swapped_;
};

// Findings of a first pass, by the numbers of things.
struct Seen {
  std::map<std::uint32_t, Parameter> types;
  std::vector<std::uint32_t> functions; // of module.kernels
  std::map<std::uint32_t, std::vector<Parameter>> parameters;
  std::map<std::uint32_t, std::string> exported;
  std::vector<std::uint32_t> variables;
  std::uint32_t function = 0; // that is read, or 0
};

void look_at(const Words& words, std::size_t at, std::size_t end, Seen& seen, Module& module) {
  const std::size_t length = end - at;
  const auto is = [&](Op op, std::size_t least) { return (words[at] & 0xFFFF) == op && length >= least; };
  std::size_t behind = 0;
  if (is(kEntryPoint, 4) && words[at + 1] == kKernelModel) {
    module.kernels.push_back({words.text(at + 3, end, behind), {}});
    seen.functions.push_back(words[at + 2]);
  } else if (is(kTypeInt, 4)) {
    seen.types[words[at + 1]] = words[at + 2] == 64 ? Parameter::kInteger : Parameter::kOther;
  } else if (is(kTypePointer, 4)) {
    seen.types[words[at + 1]] = words[at + 2] == kCrossWorkgroup ? Parameter::kPointer : Parameter::kOther;
  } else if (is(kFunction, 5)) {
    seen.function = words[at + 2];
    seen.parameters[seen.function];
  } else if (is(kFunctionEnd, 1)) {
    seen.function = 0;
  } else if (is(kFunctionParameter, 3)) {
    const auto type = seen.types.find(words[at + 1]);
    seen.parameters[seen.function].push_back(type == seen.types.end() ? Parameter::kOther : type->second);
  } else if (is(kVariable, 4) && words[at + 3] == kCrossWorkgroup) {
    seen.variables.push_back(words[at + 2]);
  } else if (is(kDecorate, 5) && words[at + 2] == kLinkageAttributes) {
    const std::string name = words.text(at + 3, end, behind);
    if (behind < end && words[behind] == kExport)
      seen.exported[words[at + 1]] = name;
  }
}

} // namespace

const char* fault_of_spirv(Bytes bytes) {
  if (bytes.size() < kHeader * sizeof(std::uint32_t) || bytes.size() % sizeof(std::uint32_t) != 0)
    return "its size is not that of a SPIR-V module";
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  if (magic != kMagic && magic != __builtin_bswap32(kMagic))
    return "it does not begin as a SPIR-V module does";
  const Words words(bytes);
  if ((words[1] & ~kMostVersions) != 0 || (words[1] >> 16) != 1)
    return "it is SPIR-V of an unknown version";
  return words[3] == 0 ? "its SPIR-V header is broken" : nullptr;
}

std::optional<Module> read_spirv(Bytes bytes) {
  const Words words(bytes);
  Module module;
  Seen seen;
  for (std::size_t at = kHeader; at < words.count();) {
    const std::size_t length = words[at] >> 16;
    if (length == 0 || length > words.count() - at)
      return std::nullopt;
    look_at(words, at, at + length, seen, module);
    at += length;
  }
  for (std::size_t i = 0; i < module.kernels.size(); ++i) {
    const auto function = seen.parameters.find(seen.functions[i]);
    if (function == seen.parameters.end() || seen.function != 0)
      return std::nullopt;
    module.kernels[i].parameters = function->second;
  }
  for (const std::uint32_t variable : seen.variables)
    if (const auto name = seen.exported.find(variable); name != seen.exported.end())
      module.variables.push_back(name->second);
  return module;
}

} // namespace omptool::opencl
