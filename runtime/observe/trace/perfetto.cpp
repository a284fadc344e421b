// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packets of perfetto/trace/trace_packet.proto, each with its length in front: tracks, and slices on them. Names and
// texts are interned, as one sequence of packets: the first packet that needs one brings it along.
#include "observe/events/source.h"
#include "trace/format.h"
#include "trace/rank.h"
#include "trace/texts.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace omptool::trace {
namespace {

// ---- protobuf ----

constexpr std::size_t kMostOfVarint = 10; // bytes
char* put_varint(char* at, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    *at++ = static_cast<char>(number | 0x80);
  *at++ = static_cast<char>(number);
  return at;
}
void add(std::string& out, unsigned field, std::uint64_t number) {
  char both[2 * kMostOfVarint];
  out.append(both, put_varint(put_varint(both, field << 3), number));
}
void add(std::string& out, unsigned field, std::string_view bytes) {
  char both[2 * kMostOfVarint];
  out.append(both, put_varint(put_varint(both, field << 3 | 2), bytes.size())).append(bytes);
}

// Small message of few numbers, or the start of a message.
class Small {
public:
  void add(unsigned field, std::uint64_t number) { end_ = put_varint(put_varint(end_, field << 3), number); }
  void add(unsigned field, const Small& message) {
    begin(field, message.text().size());
    end_ = std::copy_n(message.bytes_.data(), message.text().size(), end_);
  }
  // Begins a message of `size` bytes.
  void begin(unsigned field, std::size_t size) { end_ = put_varint(put_varint(end_, field << 3 | 2), size); }
  std::string_view text() const { return {bytes_.data(), static_cast<std::size_t>(end_ - bytes_.data())}; }

private:
  std::array<char, 512> bytes_; // an event has three numbers, and eleven arguments of 24 bytes
  char* end_ = bytes_.data();
};

// ---- fields, as Perfetto's .proto files number them ----

constexpr unsigned kPacket = 1;                                                              // Trace
constexpr unsigned kTimestamp = 8, kSequence = 10, kEvent = 11, kInterned = 12, kFlags = 13; // TracePacket
constexpr unsigned kTrackDescriptor = 60;
constexpr unsigned kUuid = 1, kTrackName = 2, kParent = 5;                 // TrackDescriptor
constexpr unsigned kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11; // TrackEvent
constexpr unsigned kEventNames = 2, kAnnotationNames = 3, kTexts = 29;     // InternedData
constexpr unsigned kIid = 1, kName = 2;                // EventName, DebugAnnotationName, InternedString
constexpr unsigned kUnsigned = 3, kTextIid = 17;       // DebugAnnotation, whose name is kIid
constexpr unsigned kBegin = 1, kEnd = 2, kInstant = 3; // TrackEvent.Type
constexpr unsigned kStateCleared = 1, kNeedsState = 2; // SequenceFlags

// The names of arguments, by their numbers.
enum Argument : unsigned {
  kBytes = 1,
  kConstruct,
  kReferences,
  kHost,
  kSource,
  kReason,
  kFailed,
  kDevice,
  kEntry,
  kRank,
  kNode
};
constexpr const char* kArguments[] = {"",       "bytes",  "construct", "references", "host", "source",
                                      "reason", "failed", "device",    "entry",      "rank", "node"};

// Interned names: those that the file has already.
class Interned {
public:
  // Returns whether the file lacks it; from then on it does not.
  bool is_new(std::uint32_t name) {
    if (name >= known_.size())
      known_.resize(name + 1);
    return !std::exchange(known_[name], true);
  }

private:
  std::vector<char> known_;
};

class Perfetto final : public Format {
public:
  Perfetto(Names& names, std::uint64_t start)
      : names_(names, [](std::string_view name) { return std::string(name); }), places_(names, observe::place_of),
        start_(start) {}

  void begin(std::string& out) override {
    std::string interned;
    for (unsigned i = kBytes; i <= kNode; ++i)
      add(interned, kAnnotationNames, named(i, kArguments[i]));
    for (std::size_t i = 0; i < kKinds; ++i)
      add(interned, kEventNames, named(i + 1, kNames[i]));
    std::string packet;
    add(packet, kSequence, 1);
    add(packet, kFlags, kStateCleared);
    add(packet, kInterned, interned);
    add(out, kPacket, packet);
    add_track(out, 1, 0, name_of_host());
  }

  void add(const Record& record, std::string& out) override {
    if (record.kind == Kind::kDevice) {
      if (record.rank >= 0)
        ranks_[record.device] = record;
      return add_track(out, process_track(record.device + 2), 0,
                       "device " + std::to_string(record.device) + " (" + names_.of(record.name) + ")");
    }
    const Lane lane = lanes_.of(record);
    const std::uint64_t track = track_of(lane);
    if (lane.is_new)
      add_track(out, track, process_track(lane.process), lane.name());
    const bool is_instant = record.began == record.ended;
    add_event(out, record, track, is_instant ? kInstant : kBegin, record.began);
    if (!is_instant)
      add_event(out, record, track, kEnd, record.ended);
  }

  void end(std::string&) override {} // packets end by themselves

private:
  using Format::add;
  static void add(std::string& out, unsigned field, std::uint64_t number) { trace::add(out, field, number); }
  static void add(std::string& out, unsigned field, std::string_view bytes) { trace::add(out, field, bytes); }

  static std::string named(std::uint64_t number, std::string_view name) {
    std::string entry;
    add(entry, kIid, number);
    add(entry, kName, name);
    return entry;
  }
  // Process track: small, because small numbers are short in the file. The host's process is 1; those of devices are
  // even, lanes are odd.
  static std::uint64_t process_track(int process) { return process == 1 ? 1 : 2 * static_cast<std::uint64_t>(process); }
  std::uint64_t track_of(const Lane& lane) {
    const auto [at, is_new] = tracks_.try_emplace({lane.process, lane.number}, 3 + 2 * tracks_.size());
    return at->second;
  }

  void add_track(std::string& out, std::uint64_t track, std::uint64_t parent, std::string_view name) {
    std::string descriptor, packet;
    add(descriptor, kUuid, track);
    add(descriptor, kTrackName, name);
    if (parent != 0)
      add(descriptor, kParent, parent);
    add(packet, kSequence, 1);
    add(packet, kTrackDescriptor, descriptor);
    add(out, kPacket, packet);
  }

  void add_event(std::string& out, const Record& record, std::uint64_t track, unsigned type, std::uint64_t time) {
    Small event, packet;
    interned_.clear();
    event.add(kType, type);
    event.add(kTrack, track);
    packet.add(kTimestamp, time - start_);
    packet.add(kSequence, 1);
    if (type != kEnd) {
      event.add(kNameIid, name_of(record));
      add_arguments(record, event);
      packet.add(kFlags, kNeedsState);
    }
    std::string interned;
    if (!interned_.empty())
      add(interned, kInterned, interned_);
    packet.begin(kEvent, event.text().size());
    Small head;
    head.begin(kPacket, interned.size() + packet.text().size() + event.text().size());
    out.append(head.text()).append(interned).append(packet.text()).append(event.text());
  }

  static bool has_own_name(const Record& record) {
    return (record.kind == Kind::kLaunch || record.kind == Kind::kRoutine) && record.name != 0;
  }
  std::uint64_t name_of(const Record& record) {
    if (!has_own_name(record))
      return static_cast<std::uint64_t>(record.kind) + 1;
    const std::uint64_t number = kKinds + record.name;
    if (event_names_.is_new(record.name))
      add(interned_, kEventNames, named(number, names_.of(record.name)));
    return number;
  }

  void add_arguments(const Record& record, Small& event) {
    if (record.construct != 0)
      add_argument(event, kConstruct, kUnsigned, record.construct);
    if (record.bytes != 0)
      add_argument(event, kBytes, kUnsigned, static_cast<std::uint64_t>(record.bytes));
    if (record.references >= 0) {
      add_argument(event, kReferences, kUnsigned, static_cast<std::uint64_t>(record.references));
      add_argument(event, kHost, kUnsigned, record.host());
    }
    if (record.failed)
      add_argument(event, kFailed, kUnsigned, 1);
    if (record.kind <= Kind::kUpdate && record.device >= 0)
      add_argument(event, kDevice, kUnsigned, static_cast<std::uint64_t>(record.device));
    if (const auto found = ranks_.find(record.device); found != ranks_.end()) {
      add_argument(event, kRank, kUnsigned, static_cast<std::uint64_t>(found->second.rank));
      add_text(event, kNode, found->second.note, names_.of(found->second.note));
    }
    if (!has_own_name(record))
      add_text(event, kEntry, record.name, names_.of(record.name));
    if (record.kind == Kind::kFallback)
      add_text(event, kReason, record.note, names_.of(record.note));
    else
      add_text(event, kSource, record.note, places_.of(record.note));
  }
  static void add_argument(Small& event, Argument name, unsigned field, std::uint64_t value) {
    Small argument;
    argument.add(kIid, name);
    argument.add(field, value);
    event.add(kAnnotation, argument);
  }
  void add_text(Small& event, Argument name, std::uint32_t number, std::string_view text) {
    if (text.empty())
      return;
    if (texts_.is_new(number))
      add(interned_, kTexts, named(number, text));
    add_argument(event, name, kTextIid, number);
  }

  Texts names_, places_;
  const std::uint64_t start_;
  Lanes lanes_;
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> tracks_;
  std::map<int, Record> ranks_; // the kDevice of each device of another rank
  Interned event_names_, texts_;
  std::string interned_; // what the file lacks and this event needs
};

} // namespace

std::unique_ptr<Format> perfetto_format(Names& names, std::uint64_t start) {
  return std::make_unique<Perfetto>(names, start);
}

} // namespace omptool::trace
