// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image_kind.h"

#include "elf_file.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

namespace omptool::cuda {
namespace {

constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;
constexpr std::uint16_t kFatbinPtx = 1, kFatbinCubin = 2;
constexpr std::uint64_t kArchitectureOnly = 0x100000; // of an entry for sm_90a and the like
constexpr std::uint64_t kFamilyOnly = 0x200000;       // for sm_100f and the like
constexpr std::size_t kHead = 1 << 16;                // of PTX: where its directives begin

// Header of a fat binary: undocumented, read from files by nvcc, fatbinary and clang.
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size; // of the entries
};
struct FatbinEntry {
  std::uint16_t kind, version;
  std::uint32_t header_size;
  std::uint64_t size;
  std::uint32_t compressed_size, options;
  std::uint16_t minor, major;
  std::uint32_t number, source, source_length;
  std::uint64_t flags;
};

std::string_view head_of(Bytes image) {
  return {reinterpret_cast<const char*>(image.data()), std::min(image.size(), kHead)};
}

// Behind blanks and comments.
std::string_view skip_blanks(std::string_view text) {
  for (;;) {
    const std::size_t at = text.find_first_not_of(" \t\r\n\f\v");
    text.remove_prefix(std::min(at, text.size()));
    const bool is_line = text.starts_with("//");
    if (!is_line && !text.starts_with("/*"))
      return text;
    const std::size_t end = text.find(is_line ? "\n" : "*/", 2);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + (is_line ? 1 : 2));
  }
}

// A number at the beginning of `text`, which goes on behind it.
int take_number(std::string_view& text) {
  int number = 0;
  for (; !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) && number < 10000;
       text.remove_prefix(1))
    number = number * 10 + (text.front() - '0');
  return number;
}

std::string name_of_version(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

// Returns why the driver is too old for PTX that begins with ".version 8.7", or "" (PTX ISA, "Release Notes"). A driver
// has CUDA 11.2 at least. The driver judges versions that are newer than this list.
std::string fault_of_ptx(std::string_view text, int driver) {
  constexpr std::string_view kVersion = ".version";
  constexpr int kLastWithoutGap = 5; // PTX 8.5 is of CUDA 12.5, and 8.6 of 12.7
  text = skip_blanks(text.substr(std::min(kVersion.size(), text.size())));
  const int major = take_number(text);
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  const int minor = take_number(text);
  if (driver == 0 || major < 7 || major > 9)
    return {};
  const int of_cuda = minor + (major == 8 && minor > kLastWithoutGap ? 1 : 0);
  if ((major + 4) * 1000 + of_cuda * 10 <= driver)
    return {};
  return "the image is PTX " + name_of_version(major, minor) + ", which needs a driver of CUDA " +
         name_of_version(major + 4, of_cuda) + "; this one is of CUDA " +
         name_of_version(driver / 1000, driver % 1000 / 10);
}

// Reads the target line of PTX, such as ".target sm_90a", which is near the beginning.
std::vector<Code> code_of_ptx(std::string_view text) {
  const std::size_t target = text.find(".target");
  const std::size_t at = target == std::string_view::npos ? target : text.find("sm_", target);
  if (at == std::string_view::npos)
    return {};
  text.remove_prefix(at + 3);
  Code code{true, take_number(text)};
  if (text.starts_with('a') || text.starts_with('f'))
    code.variant = text.front();
  return {code};
}

// Returns whether the section `.nv.compat` marks the code as for one architecture alone. ptxas 13 writes the mark.
bool has_specific_record(Bytes image) {
  constexpr std::uint8_t kSized = 4, kSpecific = 9;
  struct Record {
    std::uint8_t form, key;
    std::uint16_t value; // of a sized one: how many bytes follow
  };
  const auto is_meant = [](std::string_view name, const Elf64_Shdr&) { return name == ".nv.compat"; };
  const std::optional<Elf64_Shdr> section = find_section(image, is_meant);
  const std::string_view content = section ? content_of(image, *section) : std::string_view();
  for (std::size_t at = 0; at + sizeof(Record) <= content.size();) {
    Record record;
    std::memcpy(&record, content.data() + at, sizeof record);
    if (record.form != kSized && record.key == kSpecific && (record.value & 0xff) != 0)
      return true;
    at += sizeof record + (record.form == kSized ? record.value : 0);
  }
  return false;
}

// Reads the architecture of a cubin. CUDA 13 stores it in another field than earlier releases, with a flag for code of
// one architecture alone. Older GPUs' code in NVIDIA's libraries has that flag for another reason.
std::vector<Code> code_of_cubin(Bytes image) {
  const std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(image, 0);
  if (!header)
    return {};
  constexpr unsigned char kVersionOfCuda13 = 8;
  constexpr std::uint32_t kSpecific = 0x800, kSpecificOfCuda13 = 0x8;
  const bool is_new = header->e_ident[EI_ABIVERSION] >= kVersionOfCuda13;
  constexpr int kFirstSpecific = 90;
  const int number = static_cast<int>((is_new ? header->e_flags >> 8 : header->e_flags) & 0xff);
  const bool is_specific = (header->e_flags & (is_new ? kSpecificOfCuda13 : kSpecific)) || has_specific_record(image);
  return {{false, number, is_specific && number >= kFirstSpecific ? 'a' : '\0'}};
}

char variant_of(const FatbinEntry& entry) {
  if (entry.flags & kArchitectureOnly)
    return 'a';
  return entry.flags & kFamilyOnly ? 'f' : '\0';
}

std::vector<Code> codes_of_fatbin(Bytes image) {
  std::vector<Code> codes;
  const std::optional<FatbinHeader> header = read<FatbinHeader>(image, 0);
  if (!header || header->size > image.size())
    return codes;
  const std::uint64_t end = std::min<std::uint64_t>(image.size(), header->header_size + header->size);
  for (std::uint64_t at = header->header_size; at < end;) {
    const std::optional<FatbinEntry> entry = read<FatbinEntry>(image, at);
    if (!entry || entry->header_size < sizeof *entry || entry->size > end)
      break;
    if (entry->kind == kFatbinPtx || entry->kind == kFatbinCubin)
      codes.push_back({entry->kind == kFatbinPtx, static_cast<int>(entry->number), variant_of(*entry)});
    at += entry->header_size + entry->size;
  }
  return codes;
}

std::string name_of(const Code& code) {
  std::string name = (code.is_ptx ? "PTX for sm_" : "sm_") + std::to_string(code.number);
  return code.variant ? name + code.variant : name;
}

} // namespace

ImageKind kind_of(Bytes image) {
  if (const std::optional<Elf64_Ehdr> elf = elf_header(image))
    return elf->e_ident[EI_CLASS] == ELFCLASS64 && elf->e_machine == EM_CUDA ? ImageKind::kCubin : ImageKind::kNone;
  if (const std::optional<FatbinHeader> fatbin = read<FatbinHeader>(image, 0); fatbin && fatbin->magic == kFatbinMagic)
    return fatbin->header_size >= sizeof *fatbin && fatbin->header_size <= image.size() &&
                   fatbin->size <= image.size() - fatbin->header_size
               ? ImageKind::kFatbin
               : ImageKind::kNone;
  return skip_blanks(head_of(image)).starts_with(".version") ? ImageKind::kPtx : ImageKind::kNone;
}

std::vector<Code> codes_of(Bytes image) {
  switch (kind_of(image)) {
  case ImageKind::kPtx:
    return code_of_ptx(skip_blanks(head_of(image)));
  case ImageKind::kCubin:
    return code_of_cubin(image);
  case ImageKind::kFatbin:
    return codes_of_fatbin(image);
  case ImageKind::kNone:
    break;
  }
  return {};
}

bool runs_on(const Code& code, int number) {
  if (code.variant == 'a')
    return code.number == number;
  if (code.variant == 'f' || !code.is_ptx) // of the same generation
    return code.number / 10 == number / 10 && code.number <= number;
  return code.number <= number;
}

std::string fault_of_bytes(Bytes image) {
  const ImageKind kind = kind_of(image);
  if (kind == ImageKind::kNone)
    return "it is no PTX, no cubin and no CUDA fat binary";
  const bool has_target = kind != ImageKind::kPtx || !codes_of(image).empty();
  return has_target ? "" : "it is PTX without a target";
}

std::string fault_of(Bytes image, const std::vector<int>& devices, int driver) {
  const std::vector<Code> codes = codes_of(image);
  if (codes.empty())
    return {};
  std::string there, wanted;
  for (const int device : devices) {
    for (const Code& code : codes)
      if (runs_on(code, device))
        return kind_of(image) == ImageKind::kPtx ? fault_of_ptx(skip_blanks(head_of(image)), driver) : "";
    const std::string name = "sm_" + std::to_string(device);
    if (there.find(name) == std::string::npos)
      there += (there.empty() ? "" : ", ") + name;
  }
  for (const Code& code : codes)
    wanted += (wanted.empty() ? "" : ", ") + name_of(code);
  return "the image is for " + wanted + ", the GPU is " + there;
}

} // namespace omptool::cuda
