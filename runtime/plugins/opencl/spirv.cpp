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

// Opcodes that this file reads, and the operand values that it looks for (SPIR-V specification, section 3).
enum Op : std::uint32_t {
  kEntryPoint = 15,
  kTypeInt = 21,
  kTypePointer = 32,
  kConstant = 43,
  kConstantComposite = 44,
  kConstantNull = 46,
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

  // Reads a text from word `at` to word `end` at most. `behind` becomes the word behind the text.
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

// Seen by a first pass over the module, by result id.
struct Seen {
  std::map<std::uint32_t, Parameter> types;
  std::vector<std::uint32_t> functions; // of module.kernels
  std::map<std::uint32_t, std::vector<Parameter>> parameters;
  std::map<std::uint32_t, std::string> exported;
  std::vector<std::uint32_t> variables;
  std::map<std::uint32_t, std::uint32_t> initial;   // values of variables
  std::map<std::uint32_t, std::uint32_t> constants; // the lowest word of each
  std::map<std::uint32_t, std::vector<std::uint32_t>> composites;
  std::uint32_t function = 0; // that is read, or 0
};

constexpr char kEnvironment[] = "_kernel_environment";

// The numbers of the record that a variable of this name begins with; none: the module has no such variable.
std::vector<std::uint32_t> numbers_of(const Seen& seen, const std::string& name) {
  std::vector<std::uint32_t> numbers;
  for (const auto& [variable, value] : seen.initial) {
    const auto known = seen.exported.find(variable);
    const auto whole = seen.composites.find(value);
    if (known == seen.exported.end() || known->second != name || whole == seen.composites.end() ||
        whole->second.empty())
      continue;
    const auto first = seen.composites.find(whole->second.front());
    if (first == seen.composites.end())
      continue;
    for (const std::uint32_t member : first->second)
      if (const auto number = seen.constants.find(member); number != seen.constants.end())
        numbers.push_back(number->second);
  }
  return numbers;
}

std::optional<KernelEnvironment> environment_of(const Seen& seen, const std::string& kernel) {
  enum : std::size_t { kMode = 2, kMostThreads = 4, kReductionSize = 7 }; // see the CUDA plugin's KernelEnvironment
  const std::vector<std::uint32_t> numbers = numbers_of(seen, kernel + kEnvironment);
  if (numbers.empty())
    return std::nullopt;
  const auto at = [&](std::size_t i) { return i < numbers.size() ? numbers[i] : 0; };
  return KernelEnvironment{numbers.size(), at(kMode), at(kMostThreads), at(kReductionSize)};
}

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
  } else if (is(kConstant, 4)) {
    seen.constants[words[at + 2]] = words[at + 3];
  } else if (is(kConstantNull, 3)) {
    seen.constants[words[at + 2]] = 0;
  } else if (is(kConstantComposite, 3)) {
    std::vector<std::uint32_t>& members = seen.composites[words[at + 2]];
    for (std::size_t i = at + 3; i < end; ++i)
      members.push_back(words[i]);
  } else if (is(kVariable, 4) && words[at + 3] == kCrossWorkgroup) {
    seen.variables.push_back(words[at + 2]);
    if (length > 4)
      seen.initial[words[at + 2]] = words[at + 4];
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
    module.kernels[i].environment = environment_of(seen, module.kernels[i].name);
  }
  for (const std::uint32_t variable : seen.variables)
    if (const auto name = seen.exported.find(variable); name != seen.exported.end())
      module.variables.push_back(name->second);
  return module;
}

} // namespace omptool::opencl
