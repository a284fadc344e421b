// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/region_name.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <optional>

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

// "work_l5", "work_l5_2": a second region of one line, "work_l5_ctor".
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

// A function in the parameters' place ends where the last closing parenthesis opened.
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

// Returns the scopes and the procedure in a name of flang's (flang/docs/BijectiveInternalNameUniquing.md): "_QMmPp" is
// "m::p". Its twin is packager/naming/demangle.py.
std::string of_fortran(std::string_view function) {
  constexpr const char* kMain = "main program";
  if (function == "_QQmain")
    return kMain;
  std::string scopes;
  for (std::string_view rest = function.substr(2); !rest.empty();) {
    const char kind = rest.front();
    rest.remove_prefix(1);
    if (kind == 'B') { // a block has a number
      rest.remove_prefix(std::min(rest.find_first_not_of(kDecimal), rest.size()));
      continue;
    }
    const std::string_view name = take_fortran_name(rest);
    if (kind == 'P' && !name.empty() && rest.empty())
      return scopes + std::string(name);
    if ((kind != 'M' && kind != 'S' && kind != 'F') || (name.empty() && kind != 'F'))
      break;
    scopes += (name.empty() ? kMain : std::string(name)) + "::";
  }
  return std::string(function);
}

std::string demangled(std::string_view function) {
  if (function.starts_with("_Q"))
    return of_fortran(function);
  if (!function.starts_with("_Z"))
    return std::string(function);
  const std::string mangled(function);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  return text ? std::string(without_types(text.get())) : mangled;
}

} // namespace

std::string region_name(std::string_view kernel) {
  std::string_view rest = kernel;
  if (!rest.starts_with(kOffloading))
    return std::string(kernel);
  rest.remove_prefix(kOffloading.size());
  if (rest.starts_with('_')) // a device number that was negative
    rest.remove_prefix(1);
  const bool has_place = skip_number(rest) && skip_number(rest);
  const std::optional<Parts> parts = has_place ? parts_of(rest) : std::nullopt;
  if (!parts)
    return std::string(kernel);
  const std::string suffix = parts->suffix.empty() ? "" : " (" + std::string(parts->suffix) + ")";
  return demangled(parts->function) + ":" + std::string(parts->line) + suffix;
}

} // namespace omptool
