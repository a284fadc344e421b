// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps what a construct did until it ends, because only its launch says which region it is.
#include "observe/summary.h"

#include "counted.h"
#include "observe/events/sink.h"
#include "observe/events/source.h"
#include "process/message.h"
#include "process/per_process.h"
#include "region_name.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace omptool::observe {
namespace {

struct Sums {
  std::uint64_t launches = 0, constructs = 0;
  Operation::Clock::duration on_device{}, waited{};
  std::int64_t to_device = 0, to_host = 0;
  std::map<std::string, std::uint64_t> on_host; // by reason

  void add(const Operation& operation) {
    const auto took = operation.ended - operation.began;
    if (operation.kind == Operation::Kind::kLaunch) {
      launches += operation.failed ? 0 : 1;
      on_device += took;
    } else if (operation.kind == Operation::Kind::kWait) {
      waited += took;
    } else if (operation.kind == Operation::Kind::kToDevice) {
      to_device += operation.size;
    } else if (operation.kind == Operation::Kind::kFromDevice) {
      to_host += operation.size;
    }
  }
  void add(const Sums& other) {
    launches += other.launches;
    constructs += other.constructs;
    on_device += other.on_device;
    waited += other.waited;
    to_device += other.to_device;
    to_host += other.to_host;
    for (const auto& [reason, count] : other.on_host)
      on_host[reason] += count;
  }
  std::uint64_t fallbacks() const {
    std::uint64_t all = 0;
    for (const auto& [reason, count] : on_host)
      all += count;
    return all;
  }
};

// ---- tables ----

std::string with_unit(double number, const std::array<const char*, 4>& units) {
  std::size_t unit = 0;
  for (; number >= 1000 && unit + 1 < units.size(); ++unit)
    number /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", number, units[unit]);
  return text;
}
std::string time_of(Operation::Clock::duration time) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  return with_unit(static_cast<double>(nanoseconds), {"ns", "us", "ms", "s"});
}
std::string bytes_of(std::int64_t bytes) {
  return with_unit(static_cast<double>(bytes), {"B", "kB", "MB", "GB"});
}

using Line = std::vector<std::string>;

// The first column is of words, the others of numbers.
void print(const char* title, const std::vector<Line>& lines) {
  tell("", "%s", title);
  std::vector<std::size_t> widths(lines.front().size());
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  for (const Line& line : lines) {
    std::string text = "  " + line[0] + std::string(widths[0] - line[0].size(), ' ');
    for (std::size_t i = 1; i < line.size(); ++i)
      text += "  " + std::string(widths[i] - line[i].size(), ' ') + line[i];
    tell("", "%s", text.c_str());
  }
}

// Names a construct whose source line is not known: the program was compiled without -g, or calls by hand.
std::string title_of(const Call& call, const std::string& kernel) {
  constexpr std::array<const char*, 4> kConstructs{"target", "target enter data", "target exit data", "target update"};
  if (!kernel.empty())
    return region_name(kernel);
  const auto action = static_cast<std::size_t>(call.action);
  const bool is_construct = call.abi == Abi::kLlvm && action < kConstructs.size();
  return std::string("(no source line) ") + (is_construct ? kConstructs[action] : call.function);
}

class Summary {
public:
  void add(const Operation& operation) {
    if (operation.construct == 0)
      return;
    const std::lock_guard lock(mutex_);
    Construct& of = constructs_[operation.construct];
    if (operation.kind == Operation::Kind::kLaunch)
      of.name = operation.entry;
    of.sums.add(operation);
    if (const auto device = devices_.find(operation.device); device != devices_.end())
      device->second.sums.add(operation);
  }
  void add(const DeviceReady& event) {
    const std::lock_guard lock(mutex_);
    devices_[event.device].name = "device " + std::to_string(event.device) + " (" + event.title + ")";
    has_ranks_ = has_ranks_ || event.rank >= 0;
  }
  void fall_back(const FellBack& event) {
    const std::lock_guard lock(mutex_);
    Construct& of = constructs_[event.construct];
    of.name = event.name;
    ++of.sums.on_host[event.reason];
    if (event.construct == 0) // no end follows
      end(0, {});
  }
  void add(const LibraryUnregistered& event) {
    const std::lock_guard lock(mutex_);
    kernels_.insert(event.kernels.begin(), event.kernels.end());
  }
  void end(const ConstructEnds& event) {
    const std::lock_guard lock(mutex_);
    std::string place = place_of(event.call.source ? event.call.source : "");
    if (place.empty())
      place = title_of(event.call, constructs_[event.construct].name);
    end(event.construct, place);
  }

  void print_all() {
    const std::lock_guard lock(mutex_);
    if (regions_.empty() && (copies_.empty() || !kernels_.empty()))
      tell("", "Regions: none");
    const std::map<std::string, std::string> titles = titles_of_all();
    if (!regions_.empty())
      print_regions(titles);
    print_idle(titles);
    if (std::any_of(copies_.begin(), copies_.end(), moves))
      print_copies();
    if (has_ranks_)
      print_devices();
  }

private:
  struct Construct {
    std::string name;
    Sums sums;
  };
  using Named = std::map<std::string, Sums>;

  static bool moves(const Named::value_type& one) { return one.second.to_device + one.second.to_host > 0; }

  void end(std::uint64_t number, const std::string& place) {
    Construct over = std::move(constructs_[number]);
    constructs_.erase(number);
    over.sums.constructs = 1;
    if (!over.name.empty())
      regions_[over.name].add(over.sums);
    if (!place.empty())
      copies_[place].add(over.sums);
  }

  std::map<std::string, std::string> titles_of_all() const {
    std::set<std::string> all = kernels_;
    for (const auto& [name, sums] : regions_)
      all.insert(name);
    return region_names(all);
  }
  void print_regions(const std::map<std::string, std::string>& titles) const {
    std::vector<Line> lines{
        {"region", "launches", "on the device", "waited", "to the device", "to the host", "on the host"}};
    std::vector<const Named::value_type*> longest_first;
    for (const Named::value_type& one : regions_)
      longest_first.push_back(&one);
    std::sort(longest_first.begin(), longest_first.end(), [](const auto* one, const auto* other) {
      return one->second.on_device != other->second.on_device ? one->second.on_device > other->second.on_device
                                                              : one->first < other->first;
    });
    for (const auto* const one : longest_first) {
      const auto& [name, sums] = *one;
      lines.push_back({titles.at(name), std::to_string(sums.launches), time_of(sums.on_device), time_of(sums.waited),
                       bytes_of(sums.to_device), bytes_of(sums.to_host), std::to_string(sums.fallbacks())});
    }
    print("Regions:", lines);
    for (const auto& [name, sums] : regions_)
      for (const auto& [reason, count] : sums.on_host)
        tell("", "  %s ran %s on the host: %s", titles.at(name).c_str(),
             counted(static_cast<std::int64_t>(count), "time").c_str(), reason.c_str());
  }
  // Regions of registered libraries that no call asked for.
  void print_idle(const std::map<std::string, std::string>& titles) const {
    for (const std::string& name : kernels_)
      if (!regions_.contains(name))
        tell("", "  %s not launched (not called, or its `if` was false)", titles.at(name).c_str());
  }
  void print_copies() const {
    std::vector<Line> lines{{"copies of", "times", "to the device", "to the host"}};
    for (const auto& one : copies_)
      if (moves(one))
        lines.push_back({one.first, std::to_string(one.second.constructs), bytes_of(one.second.to_device),
                         bytes_of(one.second.to_host)});
    print("Copies:", lines);
  }
  void print_devices() const {
    std::vector<Line> lines{{"device", "launches", "kernels", "to the device", "to the host"}};
    for (const auto& [number, device] : devices_)
      lines.push_back({device.name, std::to_string(device.sums.launches), time_of(device.sums.on_device),
                       bytes_of(device.sums.to_device), bytes_of(device.sums.to_host)});
    print("Devices:", lines);
  }

  std::mutex mutex_;
  std::map<std::uint64_t, Construct> constructs_; // that go on
  Named regions_;                                 // by name
  Named copies_;                                  // by source line
  std::set<std::string> kernels_;                 // of libraries that have unregistered
  std::map<int, Construct> devices_;              // that have been used; each with its name
  bool has_ranks_ = false;                        // other ranks have some of these
};

class SummaryListener final : public Listener {
public:
  void hear(const Event& event) override {
    Summary& summary = PerProcess<Summary>::get();
    if (const auto* const operation = as<OperationEnds>(event))
      summary.add(operation->operation);
    else if (const auto* const construct = as<ConstructEnds>(event))
      summary.end(*construct);
    else if (const auto* const on_host = as<FellBack>(event))
      summary.fall_back(*on_host);
    else if (const auto* const device = as<DeviceReady>(event))
      summary.add(*device);
    else if (const auto* const library = as<LibraryUnregistered>(event))
      summary.add(*library);
  }
};

// As the user has set it; "": not at all.
std::string asked_for() {
  const char* const asked = ::secure_getenv("OMPTOOL_SUMMARY");
  return asked ? asked : "";
}

} // namespace

void summarize() {
  const std::string asked = asked_for();
  static std::atomic<bool> is_known{false};
  if (asked.empty() || asked == "0" || is_known.exchange(true))
    return;
  if (asked != "1")
    return say("the runtime ignores OMPTOOL_SUMMARY=%s and uses 0; known values: 0, 1", asked.c_str());
  PerProcess<Summary>::get();
  static SummaryListener* const only = new SummaryListener; // threads go on while the process exits
  subscribe(*only, kHeard);
}

// Behind the program's own end.
__attribute__((destructor)) static void print_summary() {
  if (asked_for() == "1")
    PerProcess<Summary>::get().print_all();
}

} // namespace omptool::observe
