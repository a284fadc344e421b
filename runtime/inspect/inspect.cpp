// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the kernels and variables of a cubin for packager/formats/device_images/compiled.py. Returns -1 for a cubin
// with anything unusual in it; then device_elf.py, its Python twin, reads the file and reports the fault. Both must
// agree.
#include "compatibility.h"
#include "exported.h"
#include "image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <exception>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t kMostSections = 1 << 16, kMostSegments = 64, kLongestName = 1 << 16, kLargestTable = 1 << 22;
constexpr std::uint64_t kLargestCubin = 1 << 28, kMostCharacters = 1 << 24;
constexpr std::uint32_t kNoBytes[] = {SHT_NULL, SHT_NOBITS, 0x70000007, 0x70000009, 0x7000000A, 0x70000015};
constexpr unsigned kCudaObject = 13, kCudaMemory = 0x20 | 0x80, kCudaEntry = 0x10;
constexpr std::uint8_t kSized = 4, kRegisters = 0x2F, kFrame = 0x11, kStack = 0x12;
constexpr std::string_view kInfo = ".nv.info", kShared = ".nv.shared.";
// Symbols that linkers define.
constexpr std::string_view kOfLinkers[] = {"_init",       "_fini",  "_edata",       "_end",
                                           "__bss_start", "_start", "__data_start", "."};

// Depth of a reading, numbered as in helper.py. Each depth checks for damage and undefined names.
enum Depth : std::int32_t { kDamage, kSymbols, kResources };

// Record in the layout that compiled.py unpacks.
struct Record {
  std::uint64_t size = 0, code = 0, code_size = 0, is_kernel = 0, has_code = 0, has_resources = 0;
  std::int64_t registers = -1, shared = 0, stack = -1; // -1: not said
};

// Strings of which each character is one to show.
class Strings {
public:
  explicit Strings(Bytes table) : table_(table) {
    const auto is_shown = [](std::uint8_t byte) { return byte == 0 || (byte >= 0x20 && byte < 0x7F); };
    expect(table.size <= kLargestTable && std::all_of(table.begin, table.begin + table.size, is_shown));
  }
  std::string_view at(std::uint64_t place) {
    expect(place < table_.size);
    const std::uint64_t room = std::min(table_.size - place, kLongestName);
    const auto* const text = reinterpret_cast<const char*>(table_.begin + place);
    const std::string_view found(text, strnlen(text, room));
    characters += found.size();
    expect(found.size() < room && characters <= kMostCharacters);
    return found;
  }
  std::uint64_t characters = 0;

private:
  Bytes table_;
};

struct Section {
  Elf64_Shdr header;
  std::string_view name;
  bool has_bytes;
};

// Cubin: its ELF headers.
class Cubin {
public:
  explicit Cubin(Image<const std::uint8_t> file) : file_(file), header_(part(0, sizeof header_).get<Elf64_Ehdr>(0)) {
    constexpr std::string_view kIdent = "\177ELF\2\1"; // 64 bits, little-endian
    expect(file.size <= kLargestCubin && std::memcmp(header_.e_ident, kIdent.data(), kIdent.size()) == 0);
    expect(header_.e_machine == EM_CUDA);
    is_object = header_.e_type == ET_REL;
    read_segments();
    read_sections();
  }

  std::uint64_t characters = 0, symbols = 0; // the number of the section of symbols
  bool is_debugged = false, is_object = false;
  std::vector<Section> sections;

  Bytes content(const Section& section) const {
    expect(section.has_bytes);
    return part(section.header.sh_offset, section.header.sh_size);
  }
  const Section& section(std::uint64_t number) const {
    expect(number > 0 && number < sections.size());
    return sections[number];
  }

private:
  Bytes part(std::uint64_t at, std::uint64_t length) const { return {file_.part(at, length), length}; }

  void read_segments() {
    expect(header_.e_phnum <= kMostSegments && (header_.e_phnum == 0 || header_.e_phentsize == sizeof(Elf64_Phdr)));
    const Bytes table = part(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr));
    std::uint64_t loaded = 0;
    for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
      const auto segment = table.row<Elf64_Phdr>(i);
      expect(segment.p_type != PT_DYNAMIC);
      file_.expect_inside(segment.p_offset, segment.p_filesz);
      loaded += segment.p_type == PT_LOAD ? segment.p_filesz : 0;
    }
    expect(loaded <= 2 * file_.size);
  }

  void read_sections() {
    const std::uint64_t count = header_.e_shnum, names = header_.e_shstrndx;
    expect(header_.e_shoff && header_.e_shentsize == sizeof(Elf64_Shdr) && names > 0 && names < count);
    expect(count < kMostSections && names != SHN_XINDEX);
    const Bytes table = part(header_.e_shoff, count * sizeof(Elf64_Shdr));
    const auto named = table.row<Elf64_Shdr>(names);
    Strings strings(part(named.sh_offset, named.sh_size));
    std::uint64_t all = 0;
    sections.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto header = table.row<Elf64_Shdr>(i);
      const std::string_view name = strings.at(header.sh_name);
      const std::uint32_t type = header.sh_type;
      expect(i > 0 ? type != SHT_DYNSYM && type != SHT_SYMTAB_SHNDX : type == SHT_NULL);
      expect(name.find("entries") == name.npos);
      sections.push_back({header, name, std::ranges::find(kNoBytes, type) == std::end(kNoBytes)});
      if (sections.back().has_bytes) {
        file_.expect_inside(header.sh_offset, header.sh_size);
        all += header.sh_size;
      }
      symbols = symbols == 0 && type == SHT_SYMTAB ? i : symbols;
      is_debugged |= name == ".debug_info" || name == ".zdebug_info";
    }
    expect(all <= 2 * file_.size);
    characters += strings.characters;
  }

  Image<const std::uint8_t> file_;
  Elf64_Ehdr header_;
};

// Reading of a cubin's symbols, and of the resources that its kernels need.
class Reading {
public:
  Reading(Image<const std::uint8_t> file, std::int32_t depth, std::uint64_t room)
      : cubin_(file), table_(cubin_.content(cubin_.section(cubin_.symbols))), count_(table_.size / sizeof(Elf64_Sym)),
        strings_(cubin_.content(cubin_.section(cubin_.section(cubin_.symbols).header.sh_link))), depth_(depth),
        room_(room) {
    if (depth != kSymbols)
      read_needs();
    for (std::uint64_t n = 0; n < count_; ++n)
      read(table_.row<Elf64_Sym>(n));
  }

  // Writes the findings: six numbers, the records, the names of exports, and those of others, each ended by a NUL.
  std::int64_t written(std::uint8_t* out) {
    const auto undefined = static_cast<std::uint64_t>(std::ranges::count(absent_, '\0'));
    names_.insert(names_.end(), absent_.begin(), absent_.end());
    const std::uint64_t head[] = {
        records_.size(), undefined, names_.size(), cubin_.is_debugged, cubin_.characters + strings_.characters,
        is_specific()};
    const std::uint64_t records = records_.size() * sizeof(Record), size = sizeof head + records + names_.size();
    expect(size <= room_);
    out = std::copy_n(reinterpret_cast<const std::uint8_t*>(head), sizeof head, out);
    out = std::copy_n(reinterpret_cast<const std::uint8_t*>(records_.data()), records, out);
    std::copy_n(names_.data(), names_.size(), out);
    return static_cast<std::int64_t>(size);
  }

private:
  // Returns whether the cubin has the record of code for one architecture alone.
  bool is_specific() const {
    return std::ranges::any_of(cubin_.sections, [this](const Section& section) {
      return section.name == kCompatibility && has_specific_record(cubin_.content(section));
    });
  }

  // Reads the kernels' needs: registers from `.nv.info` by symbol index, shared memory from the size of its section.
  void read_needs() {
    registers_.assign(count_, -1);
    stack_.assign(count_, -1);
    for (const Section& section : cubin_.sections)
      if (section.name.starts_with(kShared)) {
        auto& size = shared_[section.name.substr(kShared.size())] = static_cast<std::int64_t>(section.header.sh_size);
        expect(size >= 0);
      } else if (section.name == kInfo || (section.name.starts_with(kInfo) && section.name[kInfo.size()] == '.')) {
        read_attributes(cubin_.content(section));
      }
    for (std::uint64_t n = 0; n < count_; ++n)
      if (registers_[n] >= 0 || stack_[n] >= 0)
        if (const std::uint32_t at = table_.row<Elf64_Sym>(n).st_name) {
          const std::string_view name = strings_.at(at);
          if (depth_ == kResources)
            needs_[name] = {registers_[n], stack_[n]};
        }
  }

  void read_attributes(Bytes block) {
    for (std::uint64_t at = 0, size = 0; at + 4 <= block.size; at += 4 + size) {
      const std::uint8_t attribute = block.begin[at + 1];
      size = block.begin[at] == kSized ? block.get<std::uint16_t>(at + 2) : 0;
      if (size < 8 || (attribute != kRegisters && attribute != kFrame && attribute != kStack))
        continue;
      auto& kept = attribute == kRegisters ? registers_ : stack_;
      const auto symbol = block.get<std::uint32_t>(at + 4);
      const std::int64_t number = block.get<std::uint32_t>(at + 8);
      if (symbol < kept.size())
        kept[symbol] = std::max(kept[symbol], number);
    }
  }

  void read(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info), binding = ELF64_ST_BIND(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF) {
      const bool is_asked_for =
          !cubin_.is_object && binding != STB_LOCAL && binding != STB_WEAK && (type < 10 || type > 12);
      if (symbol.st_name && is_asked_for)
        add(absent_, strings_.at(symbol.st_name));
      return;
    }
    const unsigned hiding = ELF64_ST_VISIBILITY(symbol.st_other);
    const bool is_kernel = type == STT_FUNC && (symbol.st_other & kCudaEntry);
    const bool is_seen = binding != STB_LOCAL && hiding != STV_INTERNAL && hiding != STV_HIDDEN;
    const bool is_global = is_seen && (type == STT_OBJECT || (type == kCudaObject && (symbol.st_other & kCudaMemory)));
    if (!is_kernel && !is_global)
      return;
    const std::string_view name = strings_.at(symbol.st_name);
    expect(std::ranges::none_of(kOfLinkers, [&](auto one) { return name.starts_with(one); }));
    if (depth_ == kDamage)
      return;
    const Elf64_Shdr* const code = is_kernel ? holder(symbol) : nullptr;
    Record record{.size = is_kernel ? 0 : symbol.st_size, .is_kernel = is_kernel, .has_code = code != nullptr};
    record.code = code ? code->sh_offset + (symbol.st_value - begin_of(*code)) : 0;
    record.code_size = code ? symbol.st_size : 0;
    if (const auto found = needs_.find(name); is_kernel && found != needs_.end()) {
      record.has_resources = 1;
      std::tie(record.registers, record.stack) = found->second;
      const auto shared = shared_.find(name);
      record.shared = shared == shared_.end() ? 0 : shared->second;
    }
    records_.push_back(record);
    add(names_, name);
  }

  // The section that holds the bytes of a symbol.
  const Elf64_Shdr* holder(const Elf64_Sym& symbol) const {
    if (symbol.st_shndx >= cubin_.sections.size() || !cubin_.sections[symbol.st_shndx].has_bytes)
      return nullptr;
    const Elf64_Shdr& found = cubin_.sections[symbol.st_shndx].header;
    const std::uint64_t begin = begin_of(found);
    const bool is_inside = symbol.st_value >= begin && symbol.st_size <= found.sh_size;
    return is_inside && symbol.st_value - begin <= found.sh_size - symbol.st_size ? &found : nullptr;
  }

  // Returns where the values of symbols in a section count from: in an object from its first byte.
  std::uint64_t begin_of(const Elf64_Shdr& section) const { return cubin_.is_object ? 0 : section.sh_addr; }

  void add(std::vector<char>& names, std::string_view name) const {
    names.insert(names.end(), name.begin(), name.end());
    names.push_back('\0');
    expect(names.size() <= room_);
  }

  Cubin cubin_;
  Bytes table_;
  std::uint64_t count_;
  Strings strings_;
  std::int32_t depth_;
  std::uint64_t room_;
  std::vector<std::int64_t> registers_, stack_; // by a symbol's number
  std::map<std::string_view, std::int64_t> shared_;
  std::map<std::string_view, std::pair<std::int64_t, std::int64_t>> needs_;
  std::vector<Record> records_;
  std::vector<char> names_, absent_;
};

} // namespace

// Inspects a cubin and returns the number of bytes written to `out`, or -1 for the Python twin. `bytes` has the cubin,
// or both ends of a larger one.
OMPTOOL_EXPORTED omptool_inspect_cubin(const std::uint8_t* bytes, std::uint64_t room, std::uint64_t size,
                                       std::int32_t depth, std::uint8_t* out, std::uint64_t out_room) noexcept {
  try {
    return Reading({bytes, room, size}, depth, out_room).written(out);
  } catch (const std::exception&) {
    return -1;
  }
}
