// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "summary/layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>

namespace omptool::observe {
namespace {

constexpr std::string_view kGap = "…", kBetween = "  ";
constexpr std::size_t kShortest = 16; // characters that a name keeps

bool is_first_byte(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_first_byte));
}
// Returns where the character of that number begins.
std::size_t byte_of(std::string_view text, std::size_t character) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (is_first_byte(text[at]) && character-- == 0)
      break;
  return at;
}

std::string without_middle(std::string_view text, std::size_t room) {
  const std::size_t length = characters(text);
  if (length <= room)
    return std::string(text);
  const std::size_t kept = room - 1, head = kept / 2;
  return std::string(text.substr(0, byte_of(text, head))) + std::string(kGap) +
         std::string(text.substr(byte_of(text, length - (kept - head))));
}

// Returns whether arguments begin here: they are behind a name, which is no operator's.
bool opens(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  if (before.empty() || before.ends_with("operator") || before.ends_with("operator<"))
    return false;
  const char last = before.back();
  if (text[at] == '(') // not "(anonymous namespace)"
    return last != ' ' && last != ':';
  return text[at] == '<' && (std::isalnum(static_cast<unsigned char>(last)) || last == '_');
}

// Returns the name with "<…>" and "(…)" for what is in them, or as it is where they are not balanced.
std::string without_arguments(std::string_view name) {
  std::string out;
  std::size_t depth = 0, opened = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (depth == 0) {
      out += c;
      if (!opens(name, at))
        continue;
      depth = 1;
      opened = at;
    } else if (c == '<' || c == '(') {
      ++depth;
    } else if ((c == '>' && name[at - 1] != '-') || c == ')') {
      if (--depth == 0)
        out.append(at > opened + 1 ? kGap : "").append(1, c);
    }
  }
  return depth == 0 ? out : std::string(name);
}

// Appends the name, and then it without its beginning: without scopes, and up to the arguments of a template; as far as
// they fit.
void append_fitting(std::string_view name, std::size_t room, std::vector<std::string>& to) {
  if (characters(name) <= room)
    to.emplace_back(name);
  int depth = 0;
  for (std::size_t at = 0; at + 1 < name.size(); ++at) {
    const char c = name[at];
    const bool is_scope = depth == 0 && c == ':' && name[at + 1] == ':';
    const bool is_arguments = depth == 0 && c == '<' && opens(name, at) && !name.substr(at + 1).starts_with(kGap);
    const std::string_view rest = name.substr(is_scope ? at + 2 : at);
    if ((is_scope || is_arguments) && characters(rest) + 1 <= room)
      to.push_back(std::string(kGap).append(rest));
    if (c == '<' || c == '(' || c == '{')
      ++depth;
    else if ((c == '>' && at > 0 && name[at - 1] != '-') || c == ')' || c == '}')
      --depth;
  }
}

// Appends the name of a template's region with the function around its lambda, in which its instances differ:
// "forall<int, halo::{lambda#1}>:15" becomes "foral…halo…:15".
void append_lambda(std::string_view name, std::size_t room, std::vector<std::string>& to) {
  const std::size_t lambda = name.rfind("::{lambda#"), line = name.rfind(':');
  if (lambda == std::string_view::npos)
    return;
  std::size_t start = lambda;
  while (start > 0 && (std::isalnum(static_cast<unsigned char>(name[start - 1])) || name[start - 1] == '_'))
    --start;
  if (start == 0 || start == lambda)
    return;
  const std::string_view function = name.substr(start, lambda - start);
  const std::string end = std::string(kGap).append(function).append(kGap).append(name.substr(line));
  if (const std::size_t length = characters(end); length <= room)
    to.push_back(std::string(name.substr(0, byte_of(name, std::min(room - length, start)))) + end);
}

// Returns what may stand for a name in the room, the best first; never nothing.
std::vector<std::string> shorter(const std::string& name, std::size_t room) {
  std::vector<std::string> choices;
  const std::string folded = without_arguments(name);
  if (characters(name) <= room)
    return {name};
  if (characters(folded) <= room)
    choices.push_back(folded);
  append_lambda(name, room, choices);
  append_fitting(name, room, choices);
  append_fitting(folded, room, choices);
  if (choices.empty())
    choices.push_back(without_middle(folded, room));
  return choices;
}

std::string with_unit(double number, const std::array<const char*, 4>& units) {
  constexpr double kRoundsUp = 999.5; // to four digits
  std::size_t unit = 0;
  for (; number >= kRoundsUp && unit + 1 < units.size(); ++unit)
    number /= 1000;
  const int digits = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", digits, number, units[unit]);
  return text;
}

} // namespace

std::vector<std::string> fitted(const std::vector<std::string>& names, std::size_t room) {
  std::vector<std::vector<std::string>> choices;
  for (const std::string& name : names)
    choices.push_back(shorter(name, room));
  std::vector<std::size_t> chosen(names.size(), 0);
  for (bool any_changed = true; any_changed;) {
    any_changed = false;
    std::map<std::string, std::set<std::string>> meant;
    for (std::size_t i = 0; i < names.size(); ++i)
      meant[choices[i][chosen[i]]].insert(names[i]);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (meant[choices[i][chosen[i]]].size() > 1 && chosen[i] + 1 < choices[i].size()) {
        ++chosen[i];
        any_changed = true;
      }
  }
  std::vector<std::string> found;
  for (std::size_t i = 0; i < names.size(); ++i)
    found.push_back(choices[i][chosen[i]]);
  return found;
}

std::string time_text(double nanoseconds) {
  return with_unit(nanoseconds, {"ns", "us", "ms", "s"});
}
std::string bytes_text(double bytes) {
  return with_unit(bytes, {"B", "kB", "MB", "GB"});
}

std::vector<std::string> Table::lines(std::size_t width) const {
  std::vector<Row> cells{headers};
  cells.insert(cells.end(), rows.begin(), rows.end());
  std::vector<std::size_t> widths(headers.size());
  for (const Row& row : cells)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], characters(row[i]));
  std::size_t all = 0;
  for (const std::size_t one : widths)
    all += kBetween.size() + one;
  if (spare != 0 && all > width) {
    all -= kBetween.size() + widths[spare];
    widths[spare] = 0;
  }
  const std::size_t others = all - widths[0];
  widths[0] = std::min(widths[0], std::max(kShortest, width > others ? width - others : 0));
  std::vector<std::string> names;
  for (const Row& row : cells)
    names.push_back(row[0]);
  names = fitted(names, widths[0]);
  std::vector<std::string> text;
  for (std::size_t row = 0; row < cells.size(); ++row) {
    std::string line = std::string(kBetween) + names[row] + std::string(widths[0] - characters(names[row]), ' ');
    for (std::size_t i = 1; i < widths.size(); ++i)
      if (widths[i] > 0)
        line.append(kBetween).append(widths[i] - characters(cells[row][i]), ' ').append(cells[row][i]);
    text.push_back(line);
  }
  return text;
}

} // namespace omptool::observe
