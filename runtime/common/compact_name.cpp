// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compact_name.h"

#include <array>
#include <cctype>
#include <cstring>
#include <string_view>

namespace omptool {
namespace {

constexpr std::string_view kLambda = "::{lambda#", kScope = "::";
constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kLongest = 1 << 12; // the time grows with the square of the length

// A text in memory of the caller's, which gets shorter.
class ShrinkingText {
public:
  explicit ShrinkingText(std::span<char> text) : begin_(text.data()), size_(text.size()) {}
  std::string_view view() const noexcept { return {begin_, size_}; }
  std::size_t size() const noexcept { return size_; }
  void erase(std::size_t from, std::size_t to) noexcept {
    if (from == to)
      return;
    std::memmove(begin_ + from, begin_ + to, size_ - to);
    size_ -= to - from;
  }

private:
  char* begin_;
  std::size_t size_;
};

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != kNone;
}

// Returns the place behind the parenthesis that closes the one at `begin`; the next place if none does.
std::size_t end_of_parentheses(std::string_view name, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < name.size(); ++at) {
    if (name[at] == '(')
      ++depth;
    else if (name[at] == ')' && --depth == 0)
      return at + 1;
  }
  return begin + 1;
}

// Returns the place behind the qualifiers of a function that is a scope; kNone if no scope ends there.
std::size_t behind_qualifiers(std::string_view name, std::size_t at) {
  constexpr std::string_view kTag = "[abi:";
  constexpr std::array<std::string_view, 4> kQualifiers{" const", " volatile", " &&", " &"};
  for (;;) {
    const std::string_view rest = name.substr(at);
    const std::size_t before = at;
    for (const std::string_view one : kQualifiers)
      if (at == before && rest.starts_with(one))
        at += one.size();
    if (at == before && rest.starts_with(kTag) && rest.find(']') != kNone)
      at += rest.find(']') + 1;
    if (at == before)
      return rest.starts_with(kScope) ? at : kNone;
  }
}

// Returns where the name goes on behind the types in the parentheses from `begin` to `end`; kNone for no such types.
std::size_t behind_types(std::string_view name, std::size_t begin, std::size_t end) {
  const std::string_view head = name.substr(0, begin);
  if (head.ends_with("{lambda"))
    return name.substr(end).starts_with('#') ? end : kNone;
  const bool is_behind_name =
      !head.empty() && (std::isalnum(static_cast<unsigned char>(head.back())) || is_one_of(head.back(), "_>)"));
  return is_behind_name && !head.ends_with("decltype") ? behind_qualifiers(name, end) : kNone;
}

// Returns where the template argument begins whose scopes end at `end`; 0 for no argument.
std::size_t start_of_scopes(std::string_view name, std::size_t end) {
  std::size_t depth = 0;
  for (std::size_t at = end; at-- > 0;) {
    const char c = name[at];
    if (is_one_of(c, ")>}"))
      ++depth;
    else if (is_one_of(c, "(<{") ? depth-- == 0 : depth == 0 && is_one_of(c, " ,"))
      return at + 1;
  }
  return 0;
}

// Returns the end of a name in [start, end) without the template arguments there.
std::size_t end_without_arguments(std::string_view name, std::size_t start, std::size_t end) {
  std::size_t depth = 0;
  for (std::size_t at = end; at-- > start && (depth > 0 || name[at] == '>');) {
    if (name[at] == '>')
      ++depth;
    else if (name[at] == '<' && --depth == 0)
      return at;
  }
  return end;
}

// Returns the start of the innermost name in [start, end).
std::size_t start_of_innermost(std::string_view name, std::size_t start, std::size_t end) {
  const std::size_t found = name.substr(start, end - start).rfind(kScope);
  return found == kNone ? start : start + found + kScope.size();
}

// Removes what is not the innermost function of the scopes in [start, end), or not the class of an operator. Returns
// where the scopes end then.
std::size_t keep_innermost(ShrinkingText& text, std::size_t start, std::size_t end) {
  const std::size_t function_end = end_without_arguments(text.view(), start, end);
  const std::size_t function = start_of_innermost(text.view(), start, function_end);
  if (function == function_end)
    return end;
  std::size_t first = function, removed = 0;
  text.erase(function_end, end);
  if (function > start && text.view().substr(function).starts_with("operator")) {
    const std::size_t outer_end = function - kScope.size();
    const std::size_t class_end = end_without_arguments(text.view(), start, outer_end);
    text.erase(class_end, outer_end);
    removed = outer_end - class_end;
    first = start_of_innermost(text.view(), start, class_end);
  }
  text.erase(start, first);
  return function_end - removed - (first - start);
}

} // namespace

std::size_t remove_types_of_scopes(std::span<char> name) noexcept {
  if (name.size() > kLongest)
    return name.size();
  ShrinkingText text(name);
  for (std::size_t at = 0; (at = text.view().find('(', at)) != kNone;) {
    const std::size_t behind = behind_types(text.view(), at, end_of_parentheses(text.view(), at));
    if (behind == kNone)
      ++at;
    else
      text.erase(at, behind);
  }
  return text.size();
}

std::size_t remove_scopes_of_lambdas(std::span<char> name) noexcept {
  if (name.size() > kLongest)
    return name.size();
  ShrinkingText text(name);
  for (std::size_t at = 0; (at = text.view().find(kLambda, at)) != kNone; at += kLambda.size()) {
    const std::size_t start = start_of_scopes(text.view(), at);
    if (start > 0 && text.view().substr(start, at - start).find(kLambda) == kNone)
      at = keep_innermost(text, start, at);
  }
  return text.size();
}

} // namespace omptool
