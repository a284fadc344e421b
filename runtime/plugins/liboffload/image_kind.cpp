// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image_kind.h"

#include "compile/compiled.h"
#include "elf_file.h"
#include "settings.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace omptool::liboffload {
namespace {

constexpr std::uint16_t kAmd = 224, kNvidia = 190; // e_machine: EM_AMDGPU, EM_CUDA
constexpr std::uint32_t kSpirv = 0x07230203;
constexpr std::uint8_t kFirstWithFeatures = 2; // EI_ABIVERSION of code object V4

struct Processor {
  std::uint32_t number; // in e_flags
  const char* name;
};
constexpr Processor kProcessors[] = {
    {0x20, "gfx600"},          {0x21, "gfx601"},          {0x22, "gfx700"},        {0x23, "gfx701"},
    {0x24, "gfx702"},          {0x25, "gfx703"},          {0x26, "gfx704"},        {0x28, "gfx801"},
    {0x29, "gfx802"},          {0x2a, "gfx803"},          {0x2b, "gfx810"},        {0x2c, "gfx900"},
    {0x2d, "gfx902"},          {0x2e, "gfx904"},          {0x2f, "gfx906"},        {0x30, "gfx908"},
    {0x31, "gfx909"},          {0x32, "gfx90c"},          {0x33, "gfx1010"},       {0x34, "gfx1011"},
    {0x35, "gfx1012"},         {0x36, "gfx1030"},         {0x37, "gfx1031"},       {0x38, "gfx1032"},
    {0x39, "gfx1033"},         {0x3a, "gfx602"},          {0x3b, "gfx705"},        {0x3c, "gfx805"},
    {0x3d, "gfx1035"},         {0x3e, "gfx1034"},         {0x3f, "gfx90a"},        {0x40, "gfx940"},
    {0x41, "gfx1100"},         {0x42, "gfx1013"},         {0x43, "gfx1150"},       {0x44, "gfx1103"},
    {0x45, "gfx1036"},         {0x46, "gfx1101"},         {0x47, "gfx1102"},       {0x48, "gfx1200"},
    {0x49, "gfx1250"},         {0x4a, "gfx1151"},         {0x4b, "gfx941"},        {0x4c, "gfx942"},
    {0x4e, "gfx1201"},         {0x4f, "gfx950"},          {0x50, "gfx1310"},       {0x51, "gfx9-generic"},
    {0x52, "gfx10-1-generic"}, {0x53, "gfx10-3-generic"}, {0x54, "gfx11-generic"}, {0x55, "gfx1152"},
    {0x57, "gfx1154"},         {0x58, "gfx1153"},         {0x59, "gfx12-generic"}, {0x5a, "gfx1251"},
    {0x5b, "gfx12-5-generic"}, {0x5c, "gfx1172"},         {0x5d, "gfx1170"},       {0x5e, "gfx1171"},
    {0x5f, "gfx9-4-generic"},  {0x62, "gfx11-7-generic"}, {0x63, "gfx13-generic"}, {0xeb, "gfx1250-strict"}};

// Code for a family runs on all of these.
struct Family {
  const char* name;
  const char* gpus;
};
constexpr Family kFamilies[] = {
    {"gfx9-generic", " gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c "},
    {"gfx9-4-generic", " gfx940 gfx941 gfx942 gfx950 "},
    {"gfx10-1-generic", " gfx1010 gfx1011 gfx1012 gfx1013 "},
    {"gfx10-3-generic", " gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 "},
    {"gfx11-generic", " gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1154 "},
    {"gfx11-7-generic", " gfx1170 gfx1171 gfx1172 "},
    {"gfx12-generic", " gfx1200 gfx1201 "},
    {"gfx12-5-generic", " gfx1250 gfx1251 "},
    {"gfx13-generic", " gfx1310 "}};

// State of a feature in e_flags; "any" and "unsupported" are not spelled out.
void add_feature(std::uint32_t flags, std::uint32_t mask, std::uint32_t off, std::uint32_t on, const char* name,
                 std::string& processor) {
  if ((flags & mask) == off || (flags & mask) == on)
    processor += std::string(":") + name + ((flags & mask) == on ? "+" : "-");
}

std::uint16_t machine_of(Bytes image) {
  const std::optional<Elf64_Ehdr> header = elf_header(image);
  return header && header->e_ident[EI_CLASS] == ELFCLASS64 ? header->e_machine : std::uint16_t{EM_NONE};
}

bool has_opposite(const std::string& gpu, std::string_view feature) {
  std::string opposite(feature);
  opposite.back() = opposite.back() == '+' ? '-' : '+';
  return (gpu + ":").find(":" + opposite + ":") != std::string::npos;
}

} // namespace

std::string processor_of(Bytes image) {
  if (machine_of(image) != kAmd)
    return {};
  const Elf64_Ehdr header = *elf_header(image);
  constexpr std::uint32_t kMach = 0xff;
  const Processor* const known =
      std::find_if(std::begin(kProcessors), std::end(kProcessors),
                   [&](const Processor& one) { return one.number == (header.e_flags & kMach); });
  if (known == std::end(kProcessors))
    return {};
  std::string processor = known->name;
  if (header.e_ident[EI_ABIVERSION] >= kFirstWithFeatures) {
    add_feature(header.e_flags, 0xc00, 0x800, 0xc00, "sramecc", processor);
    add_feature(header.e_flags, 0x300, 0x200, 0x300, "xnack", processor);
  }
  return processor;
}

bool runs_on(const std::string& code, const std::string& gpu) {
  const std::string name = code.substr(0, code.find(':')), there = gpu.substr(0, gpu.find(':'));
  for (std::size_t at = code.find(':'), end = at; at != std::string::npos; at = end) {
    end = code.find(':', at + 1);
    const std::string feature = code.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    if (!feature.empty() && has_opposite(gpu, feature))
      return false;
  }
  return name == there || std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](const Family& family) {
           return name == family.name && std::string_view(family.gpus).find(" " + there + " ") != std::string::npos;
         });
}

std::string fault_of_bytes(Bytes image) {
  const std::uint16_t machine = machine_of(image);
  if (machine == kAmd)
    return {};
  if ((machine == kNvidia && is_wanted(OL_BACKEND_CUDA)) ||
      (read<std::uint32_t>(image, 0) == kSpirv && is_wanted(OL_BACKEND_LEVEL_ZERO)))
    return {};
  return compile::fault_of(image, "amdgcn", "it is no code object for an AMD GPU");
}

std::string fault_of(Bytes image, const std::vector<std::string>& gpus) {
  const std::string code = processor_of(image);
  if (code.empty() || gpus.empty() ||
      std::any_of(gpus.begin(), gpus.end(), [&](const std::string& gpu) { return runs_on(code, gpu); }))
    return {};
  std::string list;
  for (const std::string& gpu : gpus)
    if (list.find(gpu) == std::string::npos)
      list += (list.empty() ? "" : ", ") + gpu;
  return "it is code for " + code + ", and the GPUs here are " + list;
}

} // namespace omptool::liboffload
