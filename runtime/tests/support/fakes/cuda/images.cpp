// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "images.h"

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <functional>

namespace fake_cuda {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

std::string_view first_word(std::string_view text) {
  std::size_t from = 0, to = 0;
  while (from < text.size() && !is_word(text[from]))
    ++from;
  for (to = from; to < text.size() && is_word(text[to]);)
    ++to;
  return text.substr(from, to - from);
}

// "u32" of ".align 8 .u32 name": 4. 0 where there is none.
std::size_t size_of_type(std::string_view declaration, std::size_t& after) {
  for (std::size_t at = declaration.find('.'); at != std::string_view::npos; at = declaration.find('.', at + 1)) {
    const char* const digits = declaration.data() + at + 2;
    const bool is_type = at + 3 < declaration.size() && std::strchr("bsuf", declaration[at + 1]) &&
                         std::isdigit(static_cast<unsigned char>(*digits));
    if (!is_type)
      continue;
    after = declaration.find_first_of(" \t", at);
    return static_cast<std::size_t>(std::atoi(digits)) / 8;
  }
  return 0;
}

void add_kernel(ImageNames& names, std::string_view from) {
  const std::size_t open = from.find_first_of("({");
  std::vector<std::size_t>& sizes = names.kernels[std::string(first_word(from))];
  if (open == std::string_view::npos || from[open] == '{')
    return;
  const std::string_view list = from.substr(open, from.find(')') - open);
  for (std::size_t at = list.find(".param"); at != std::string_view::npos; at = list.find(".param", at + 1)) {
    std::size_t after = 0;
    const std::string_view one = list.substr(at + 6, list.find_first_of(",)", at) - at - 6);
    sizes.push_back(size_of_type(one, after));
  }
}

// Returns a number that stands for the address of a function or a variable.
std::uint64_t address_of(std::string_view name) {
  return std::hash<std::string_view>()(name) | 1;
}

// Adds a variable from "= 5" or "= {1, 2}", or "= name" of one word; other addresses stay zeros.
void add_variable(ImageNames& names, std::string_view from) {
  const std::string_view statement = from.substr(0, from.find(';'));
  std::size_t after = 0;
  const std::size_t size = size_of_type(statement, after);
  if (size == 0)
    return;
  const std::string name(first_word(statement.substr(after)));
  const std::size_t bracket = statement.find('['), equals = statement.find('=');
  std::size_t count = 1;
  if (bracket < equals)
    count = static_cast<std::size_t>(std::atoll(statement.data() + bracket + 1));
  std::vector<char>& bytes = names.variables[name];
  bytes.resize(size * count);
  if (equals == std::string_view::npos)
    return;
  const std::string_view word = first_word(statement.substr(equals));
  const std::uint64_t address = address_of(word);
  if (count == 1 && size == sizeof address && !word.empty() && !std::isdigit(static_cast<unsigned char>(word[0]))) {
    std::memcpy(bytes.data(), &address, size);
    return;
  }
  std::size_t at = statement.find_first_of("0123456789-", equals);
  for (std::size_t i = 0; i < count && at != std::string_view::npos; ++i) {
    const long long value = std::strtoll(statement.data() + at, nullptr, 0);
    std::memcpy(bytes.data() + i * size, &value, size);
    const std::size_t comma = statement.find(',', at);
    at = comma == std::string_view::npos ? comma : statement.find_first_of("0123456789-", comma);
  }
}

template <typename T> T at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Reads the parameters in .nv.info.<kernel>: one kind of attribute has the number and the size of a parameter.
std::vector<std::size_t> parameters_in(std::string_view info) {
  constexpr std::uint8_t kSized = 4, kParameter = 0x17;
  std::map<std::uint16_t, std::size_t> sizes;
  for (std::size_t i = 0; i + 4 <= info.size();) {
    const std::uint8_t format = at<std::uint8_t>(info, i), attribute = at<std::uint8_t>(info, i + 1);
    const std::size_t size = format == kSized ? at<std::uint16_t>(info, i + 2) : 0;
    if (format == kSized && attribute == kParameter)
      sizes[at<std::uint16_t>(info, i + 8)] = at<std::uint32_t>(info, i + 12) >> 18;
    i += 4 + size;
  }
  std::vector<std::size_t> all;
  for (const auto& [number, size] : sizes)
    all.push_back(size);
  return all;
}

} // namespace

ImageNames names_in_ptx(std::string_view text) {
  ImageNames names;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view one = text.substr(line, std::min<std::size_t>(end - line, 256));
    if (const std::size_t entry = one.find(".entry "); entry != std::string_view::npos && !one.starts_with("//"))
      add_kernel(names, text.substr(line + entry + 7));
    else if (one.starts_with(".visible .global") || one.starts_with(".visible .const") ||
             one.starts_with(".weak .global") || one.starts_with(".weak .const"))
      add_variable(names, text.substr(line));
    line = end + 1;
  }
  return names;
}

ImageNames names_in_cubin(std::string_view bytes) {
  constexpr unsigned char kEntry = 0x10; // of a symbol's other bits
  ImageNames names;
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  const auto section = [&](std::size_t i) { return at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  const auto text = [&](std::size_t strings, std::size_t i) {
    return std::string(bytes.data() + section(strings).sh_offset + i);
  };
  std::map<std::string, std::vector<std::size_t>> parameters;
  for (std::size_t i = 0; i < header.e_shnum; ++i)
    if (const std::string name = text(header.e_shstrndx, section(i).sh_name); name.starts_with(".nv.info."))
      parameters[name.substr(9)] = parameters_in(bytes.substr(section(i).sh_offset, section(i).sh_size));
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    for (std::size_t s = 0; table.sh_type == SHT_SYMTAB && s < table.sh_size / sizeof(Elf64_Sym); ++s) {
      const auto symbol = at<Elf64_Sym>(bytes, table.sh_offset + s * sizeof(Elf64_Sym));
      const std::string name = text(table.sh_link, symbol.st_name);
      const unsigned char type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FUNC && (symbol.st_other & kEntry))
        names.kernels[name] = parameters[name];
      if (type != STT_OBJECT || symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
        continue;
      const Elf64_Shdr in = section(symbol.st_shndx);
      std::vector<char>& content = names.variables[name];
      content.resize(symbol.st_size);
      if (in.sh_type == SHT_PROGBITS && symbol.st_value + symbol.st_size <= in.sh_size)
        std::memcpy(content.data(), bytes.data() + in.sh_offset + symbol.st_value, symbol.st_size);
    }
  }
  return names;
}

} // namespace fake_cuda
