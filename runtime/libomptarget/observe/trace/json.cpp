// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: the array of events, whose end may
// be missing.
#include "observe/events/source.h"
#include "observe/trace/format.h"
#include "observe/trace/rank.h"
#include "observe/trace/texts.h"

#include <charconv>

namespace omptool::trace {
namespace {

void add_number(std::string& out, std::uint64_t number, int base = 10) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number, base).ptr);
}

// Microseconds, with the nanoseconds behind the point.
void add_time(std::string& out, std::uint64_t nanoseconds) {
  add_number(out, nanoseconds / 1000);
  const auto rest = static_cast<unsigned>(nanoseconds % 1000);
  if (rest == 0)
    return;
  const char digits[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                         static_cast<char>('0' + rest % 10)};
  out.append(digits, sizeof digits);
}

// Names come from programs: what is no printable ASCII is written by its number, byte by byte.
std::string escaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' && byte != '<')
      out += letter;
    else
      out.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return out;
}
std::string escaped_place(std::string_view source) {
  return escaped(observe::place_of(source));
}

class Json final : public Format {
public:
  Json(Names& names, std::uint64_t start) : texts_(names, escaped), places_(names, escaped_place), start_(start) {}

  void begin(std::string& out) override {
    out += "[\n";
    name_process(out, 1, name_of_host());
  }

  void add(const Record& record, std::string& out) override {
    const std::string& name = texts_.of(record.name);
    if (record.kind == Kind::kDevice)
      return name_process(out, record.device + 2, "device " + std::to_string(record.device) + " (" + name + ")");
    const Lane lane = lanes_.of(record);
    if (lane.is_new)
      name_lane(out, lane);
    const bool is_instant = record.began == record.ended;
    out += is_instant ? R"({"ph":"i","s":"t","pid":)" : R"({"ph":"X","pid":)";
    add_number(out, static_cast<std::uint64_t>(lane.process));
    out += R"(,"tid":)";
    add_number(out, lane.number);
    out += R"(,"ts":)";
    add_time(out, record.began - start_);
    if (!is_instant) {
      out += R"(,"dur":)";
      add_time(out, record.ended - record.began);
    }
    out += R"(,"name":")";
    const bool has_own_name = record.kind == Kind::kLaunch || record.kind == Kind::kRoutine;
    out += has_own_name && !name.empty() ? std::string_view(name) : kNames[static_cast<std::size_t>(record.kind)];
    out += R"(","args":{)";
    add_arguments(record, has_own_name ? 0 : record.name, out);
    out += "}},\n";
  }

  // The event behind the last comma says that nothing is missing.
  void end(std::string& out) override {
    out += R"({"ph":"M","pid":1,"name":"trace_end","args":{}}]
)";
  }

private:
  void add_arguments(const Record& record, std::uint32_t entry, std::string& out) {
    std::string_view comma = "";
    const auto add_argument = [&](std::string_view key, std::uint64_t number) {
      out.append(comma).append(key);
      add_number(out, number);
      comma = ",";
    };
    const auto add_words = [&](std::string_view key, const std::string& text) {
      if (text.empty())
        return;
      out.append(comma).append(key).append(text) += '"';
      comma = ",";
    };
    if (record.construct != 0)
      add_argument(R"("construct":)", record.construct);
    if (record.bytes != 0)
      add_argument(R"("bytes":)", static_cast<std::uint64_t>(record.bytes));
    if (record.host != 0 && (record.kind == Kind::kMapped || record.kind == Kind::kReleased)) {
      out.append(comma).append(R"("host":"0x)");
      add_number(out, record.host, 16);
      out += '"';
      comma = ",";
    }
    if (record.references >= 0)
      add_argument(R"("references":)", static_cast<std::uint64_t>(record.references));
    if (record.failed)
      add_argument(R"("failed":)", 1);
    if (record.kind <= Kind::kUpdate && record.device >= 0)
      add_argument(R"("device":)", static_cast<std::uint64_t>(record.device));
    add_words(R"("entry":")", texts_.of(entry));
    if (record.kind == Kind::kFallback)
      add_words(R"("reason":")", texts_.of(record.note));
    else
      add_words(R"("source":")", places_.of(record.note));
  }

  static void name_process(std::string& out, int process, const std::string& name) {
    out += R"({"ph":"M","pid":)";
    add_number(out, static_cast<std::uint64_t>(process));
    out += R"(,"name":"process_name","args":{"name":")";
    out += name;
    out += "\"}},\n";
  }
  static void name_lane(std::string& out, const Lane& lane) {
    out += R"({"ph":"M","pid":)";
    add_number(out, static_cast<std::uint64_t>(lane.process));
    out += R"(,"tid":)";
    add_number(out, lane.number);
    out += R"(,"name":"thread_name","args":{"name":")" + lane.name() + "\"}},\n";
  }

  Texts texts_, places_;
  const std::uint64_t start_;
  Lanes lanes_;
};

} // namespace

std::unique_ptr<Format> json_format(Names& names, std::uint64_t start) {
  return std::make_unique<Json>(names, start);
}

} // namespace omptool::trace
