// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "region_name.h"

#include "compact_name.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <memory>
#include <optional>

// libstdc++'s demangler without the heap. The shared libstdc++ of builds with sanitizers does not export it.
extern "C" [[gnu::weak]] int __gcclibcxx_demangle_callback(const char* mangled,
                                                           void (*append)(const char*, std::size_t, void*), void* to);

namespace omptool {
namespace {

constexpr std::string_view kOffloading = "__omp_offloading_", kDecimal = "0123456789",
                           kHexadecimal = "0123456789abcdef";

// Removes a hexadecimal number and the underscore behind it. Returns false where the text does not begin so.
bool skip_number(std::string_view& text) {
  const std::size_t end = text.find_first_not_of(kHexadecimal);
  if (end == 0 || end == std::string_view::npos || text[end] != '_')
    return false;
  text.remove_prefix(end + 1);
  return true;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDecimal) == std::string_view::npos;
}

struct Parts {
  std::string_view function, line, suffix;
};

// Parts of a region's name: "work_l5", "work_l5_2" for a second region in one line, "work_l5_ctor".
std::optional<Parts> parts_of(std::string_view rest) {
  const std::size_t at = rest.rfind("_l");
  if (at == std::string_view::npos || at == 0)
    return std::nullopt;
  const std::string_view behind = rest.substr(at + 2);
  const std::size_t end = std::min(behind.find('_'), behind.size());
  const std::string_view suffix = behind.substr(std::min(end + 1, behind.size()));
  if (!is_number(behind.substr(0, end)) ||
      (end < behind.size() && !is_number(suffix) && suffix != "ctor" && suffix != "dtor"))
    return std::nullopt;
  return Parts{rest.substr(0, at), behind.substr(0, end), suffix};
}

// Returns the end of the operator's name that begins at `at`; `at` if none does.
std::size_t end_of_operator(std::string_view text, std::size_t at) {
  constexpr std::string_view kOperator = "operator", kSigns = "<>=!+-*/%^&|~,";
  const std::size_t sign = at + kOperator.size();
  if (!text.substr(at).starts_with(kOperator) || (at > 0 && text[at - 1] != ':' && text[at - 1] != ' '))
    return at;
  const std::string_view rest = text.substr(sign);
  if (rest.starts_with(' ')) // a conversion, new or delete
    return text.size();
  if (rest.starts_with("()") || rest.starts_with("[]"))
    return sign + 2;
  const std::size_t end = std::min(text.find_first_not_of(kSigns, sign), text.size());
  return end == sign ? at : end + (text.substr(end).starts_with(" <") ? 1 : 0); // of a template: operator<< <int>
}

// Returns the name without the type of a result, which the functions of templates have.
std::string_view without_result(std::string_view function) {
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t at = 0; at < function.size(); ++at) {
    if (const std::size_t end = depth == 0 ? end_of_operator(function, at) : at; end > at)
      at = end - 1;
    else if (function[at] == ' ' && depth == 0)
      start = at + 1;
    else if (std::string_view("(<[{").find(function[at]) != std::string_view::npos)
      ++depth;
    else if (std::string_view(")>]}").find(function[at]) != std::string_view::npos)
      --depth;
  }
  return function.substr(start);
}

// Returns the function's name without parameter types. A function among the parameters ends where the last closing
// parenthesis opened.
std::string_view without_types(std::string_view function) {
  const std::size_t last = function.rfind(')');
  std::size_t depth = 0;
  for (std::size_t at = last; last != std::string_view::npos && at-- > 0;)
    if (function[at] == ')')
      ++depth;
    else if (function[at] == '(' && depth-- == 0)
      return at == 0 ? function : without_result(function.substr(0, at));
  return function;
}

// Removes a name of Fortran's, which are in small letters, from the beginning of the text.
std::string_view take_fortran_name(std::string_view& text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  std::size_t end = 0;
  while (end < text.size() &&
         (kLetters.find(text[end]) != std::string_view::npos ||
          (end > 0 && (kDecimal.find(text[end]) != std::string_view::npos || text[end] == '_' || text[end] == '$'))))
    ++end;
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

// Appends the scopes and the procedure in a name of flang's (flang/docs/BijectiveInternalNameUniquing.md): "_QMmPp" is
// "m::p". Returns false if it is no such name. Its twin is packager/naming/demangle.py.
template <typename Text> bool append_fortran(std::string_view function, Text& to) {
  constexpr std::string_view kMain = "main program";
  if (function == "_QQmain")
    return to.append(kMain), true;
  for (std::string_view rest = function.substr(2); !rest.empty();) {
    const char kind = rest.front();
    rest.remove_prefix(1);
    if (kind == 'B') { // a block has a number
      rest.remove_prefix(std::min(rest.find_first_not_of(kDecimal), rest.size()));
      continue;
    }
    const std::string_view name = take_fortran_name(rest);
    if (kind == 'P' && !name.empty() && rest.empty())
      return to.append(name), true;
    if ((kind != 'M' && kind != 'S' && kind != 'F') || (name.empty() && kind != 'F'))
      return false;
    to.append(name.empty() ? kMain : name);
    to.append("::");
  }
  return false;
}

// A text in memory of the caller's. Characters that the memory has no room for are cut off.
class BoundedText {
public:
  explicit BoundedText(std::span<char> memory) : memory_(memory) {}
  void append(std::string_view more) noexcept {
    const std::size_t taken = std::min(more.size(), memory_.size() - size_);
    if (taken == 0) // neither may be null for memcpy
      return;
    std::memcpy(memory_.data() + size_, more.data(), taken);
    size_ += taken;
  }
  std::string_view view() const noexcept { return {memory_.data(), size_}; }

private:
  std::span<char> memory_;
  std::size_t size_ = 0;
};

void append_to_text(const char* more, std::size_t size, void* text) {
  static_cast<BoundedText*>(text)->append({more, size});
}

enum class Length { kShort, kUntyped, kTyped };

// Returns the size of a demangled function that lacks all types, and that of a short one.
std::size_t shortened(std::span<char> function, Length length) noexcept {
  const std::size_t untyped = remove_types_of_scopes(function);
  return length == Length::kShort ? remove_scopes_of_lambdas(function.first(untyped)) : untyped;
}

std::string demangled(std::string_view function, Length length) {
  std::string name(function);
  if (std::string fortran; function.starts_with("_Q") && append_fortran(function, fortran))
    return fortran;
  if (!function.starts_with("_Z"))
    return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  if (!text)
    return name;
  if (length == Length::kTyped)
    return text.get();
  std::string found(without_types(text.get()));
  found.resize(shortened(found, length));
  return found;
}

// Longest name demangled on the stack: the demangler needs some 70 bytes of stack for each character.
constexpr std::size_t kLongestOnStack = 256;

void append_demangled(std::string_view function, BoundedText& to) noexcept {
  std::array<char, 4 * kLongestOnStack> memory{};
  BoundedText text(memory);
  if (function.starts_with("_Q") && append_fortran(function, text))
    return to.append(text.view());
  if (function.starts_with("_Z") && function.size() < kLongestOnStack && __gcclibcxx_demangle_callback) {
    std::array<char, kLongestOnStack> mangled{};
    std::memcpy(mangled.data(), function.data(), function.size());
    if (__gcclibcxx_demangle_callback(mangled.data(), append_to_text, &text) == 0) {
      const std::string_view found = without_types(text.view());
      const std::span<char> own = std::span(memory).subspan(static_cast<std::size_t>(found.data() - memory.data()));
      return to.append(found.substr(0, shortened(own.first(found.size()), Length::kShort)));
    }
  }
  to.append(function);
}

// Returns nothing for a name that clang did not write.
std::optional<Parts> decoded(std::string_view kernel) {
  if (!kernel.starts_with(kOffloading))
    return std::nullopt;
  kernel.remove_prefix(kOffloading.size());
  if (kernel.starts_with('_')) // a device number that was negative
    kernel.remove_prefix(1);
  return skip_number(kernel) && skip_number(kernel) ? parts_of(kernel) : std::nullopt;
}

std::string name_of(std::string_view kernel, Length length) {
  const std::optional<Parts> parts = decoded(kernel);
  if (!parts)
    return std::string(kernel);
  const std::string suffix = parts->suffix.empty() ? "" : " (" + std::string(parts->suffix) + ")";
  return demangled(parts->function, length) + ":" + std::string(parts->line) + suffix;
}

} // namespace

std::string region_name(std::string_view kernel) {
  return name_of(kernel, Length::kShort);
}

std::map<std::string, std::string> region_names(const std::set<std::string>& kernels) {
  std::map<std::string, std::string> names;
  std::set<std::string> pending = kernels;
  for (const Length length : {Length::kShort, Length::kUntyped, Length::kTyped}) {
    std::map<std::string, std::set<std::string>> kernels_by_name;
    for (const std::string& kernel : pending)
      kernels_by_name[name_of(kernel, length)].insert(kernel);
    for (const auto& [name, alike] : kernels_by_name)
      if (alike.size() == 1) {
        names[*alike.begin()] = name;
        pending.erase(*alike.begin());
      }
  }
  for (const std::string& kernel : pending)
    names[kernel] = kernel;
  return names;
}

std::string_view region_name(std::string_view kernel, std::span<char> memory) noexcept {
  BoundedText text(memory);
  const std::optional<Parts> parts = decoded(kernel);
  if (!parts)
    return text.append(kernel), text.view();
  append_demangled(parts->function, text);
  for (const std::string_view more : {std::string_view(":"), parts->line})
    text.append(more);
  if (!parts->suffix.empty())
    for (const std::string_view more : {std::string_view(" ("), parts->suffix, std::string_view(")")})
      text.append(more);
  return text.view();
}

} // namespace omptool
