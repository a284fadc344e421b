// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: the array of events, whose end may
// be missing.
#include "observe/events/source.h"
#include "output/json_text.h"
#include "trace/format.h"
#include "trace/rank.h"
#include "trace/texts.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace omptool::trace {
namespace {

// Line appended to a text with reserved room: a string would check its room for each piece.
class Line {
public:
  Line(std::string& out, std::size_t most) : out_(out), begin_(out.size()) {
    out_.resize(begin_ + most);
    at_ = out_.data() + begin_;
  }
  ~Line() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& operator<<(std::string_view text) {
    at_ = std::copy(text.begin(), text.end(), at_);
    return *this;
  }
  Line& operator<<(std::uint64_t number) { return add(number, 10); }
  Line& add(std::uint64_t number, int base) {
    at_ = std::to_chars(at_, out_.data() + out_.size(), number, base).ptr;
    return *this;
  }
  // Adds a time in microseconds, with three digits for nanoseconds.
  Line& add_time(std::uint64_t nanoseconds) {
    *this << nanoseconds / 1000;
    const auto rest = static_cast<unsigned>(nanoseconds % 1000);
    if (rest == 0)
      return *this;
    const char digits[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
    return *this << std::string_view(digits, sizeof digits);
  }

private:
  std::string& out_;
  const std::size_t begin_;
  char* at_;
};

using observe::json_text;
std::string escaped_place(std::string_view source) {
  return json_text(observe::place_of(source));
}

class Json final : public Format {
public:
  Json(Names& names, std::uint64_t start)
      : texts_(names, json_text), notes_(names, json_text), places_(names, escaped_place), start_(start) {}

  void begin(std::string& out) override {
    out += "[\n";
    name_process(out, 1, name_of_host());
  }

  void add(const Record& record, std::string& out) override {
    const std::string& name = texts_.of(record.name);
    if (record.kind == Kind::kDevice) {
      if (record.rank >= 0)
        ranks_[record.device] =
            "\"rank\":" + std::to_string(record.rank) + ",\"node\":\"" + texts_.of(record.note) + "\"";
      return name_process(out, record.device + 2,
                          "device " + std::to_string(record.device) + " (" + texts_.of(record.name) + ")");
    }
    const Lane lane = lanes_.of(record);
    if (lane.is_new)
      name_lane(out, lane);
    const bool has_own_name = record.kind == Kind::kLaunch || record.kind == Kind::kRoutine;
    const std::string_view entry = has_own_name ? std::string_view() : name;
    const std::string_view rank = rank_of(record.device),
                           note = record.kind == Kind::kFallback ? notes_.of(record.note) : places_.of(record.note);
    constexpr std::size_t kMostBesides = 512; // keys and numbers
    Line line(out, kMostBesides + name.size() + entry.size() + note.size() + rank.size());
    const bool is_instant = record.began == record.ended;
    line << (is_instant ? R"({"ph":"i","s":"t","pid":)" : R"({"ph":"X","pid":)");
    line << static_cast<std::uint64_t>(lane.process) << R"(,"tid":)" << lane.number << R"(,"ts":)";
    line.add_time(record.began - start_);
    if (!is_instant)
      (line << R"(,"dur":)").add_time(record.ended - record.began);
    line << R"(,"name":")";
    line << (has_own_name && !name.empty() ? std::string_view(name) : kNames[static_cast<std::size_t>(record.kind)]);
    line << R"(","args":{)";
    add_arguments(record, entry, note, rank, line);
    line << "}},\n";
  }

  // Ends the array. The event behind the last comma shows that the file is complete.
  void end(std::string& out) override {
    out += R"({"ph":"M","pid":1,"name":"trace_end","args":{}}]
)";
  }

private:
  // Rank of a device: for a device of another rank, that rank and its node, as arguments; else "".
  std::string_view rank_of(int device) const {
    const auto found = ranks_.find(device);
    return found == ranks_.end() ? std::string_view() : std::string_view(found->second);
  }

  static void add_arguments(const Record& record, std::string_view entry, std::string_view note, std::string_view rank,
                            Line& line) {
    std::string_view comma = "";
    const auto begin = [&](std::string_view key) -> Line& {
      line << comma << key;
      comma = ",";
      return line;
    };
    if (record.construct != 0)
      begin(R"("construct":)") << record.construct;
    if (record.bytes != 0)
      begin(R"("bytes":)") << static_cast<std::uint64_t>(record.bytes);
    if (record.host() != 0)
      begin(R"("host":"0x)").add(record.host(), 16) << "\"";
    if (record.references >= 0)
      begin(R"("references":)") << static_cast<std::uint64_t>(record.references);
    if (record.failed)
      begin(R"("failed":1)");
    if (record.kind <= Kind::kUpdate && record.device >= 0)
      begin(R"("device":)") << static_cast<std::uint64_t>(record.device);
    if (!rank.empty())
      begin(rank);
    if (!entry.empty())
      begin(R"("entry":")") << entry << "\"";
    if (!note.empty())
      begin(record.kind == Kind::kFallback ? R"("reason":")" : R"("source":")") << note << "\"";
  }

  static void name_process(std::string& out, int process, const std::string& name) {
    out += R"({"ph":"M","pid":)" + std::to_string(process) + R"(,"name":"process_name","args":{"name":")" + name +
           "\"}},\n";
  }
  static void name_lane(std::string& out, const Lane& lane) {
    out += R"({"ph":"M","pid":)" + std::to_string(lane.process) + R"(,"tid":)" + std::to_string(lane.number) +
           R"(,"name":"thread_name","args":{"name":")" + lane.name() + "\"}},\n";
  }

  Texts texts_, notes_, places_;
  const std::uint64_t start_;
  Lanes lanes_;
  std::map<int, std::string> ranks_; // by device
};

} // namespace

std::unique_ptr<Format> json_format(Names& names, std::uint64_t start) {
  return std::make_unique<Json>(names, start);
}

} // namespace omptool::trace
