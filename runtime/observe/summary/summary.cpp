// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores the events of a construct until it ends, because only the launch shows which region it is.
#include "summary/summary.h"

#include "bytes.h"
#include "file.h"
#include "observe/events/sink.h"
#include "observe/events/source.h"
#include "process/message.h"
#include "process/per_process.h"
#include "summary/aborting.h"
#include "summary/contents.h"
#include "summary/document.h"
#include "summary/tables.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace omptool::observe {
namespace {

Site site_of(const Call& call) {
  constexpr std::array<const char*, 4> kConstructs{"target", "target enter data", "target exit data", "target update"};
  const auto action = static_cast<std::size_t>(call.action);
  const bool is_construct = call.abi == Abi::kLlvm && action < kConstructs.size();
  return {place_of(call.source ? call.source : ""), is_construct ? kConstructs[action] : call.function};
}

std::atomic<bool> is_spread{false}; // written before anybody listens

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
    if (const auto device = contents_.devices.find(operation.device); device != contents_.devices.end())
      device->second.sums.add(operation);
  }
  void add(const DeviceReady& event) {
    const std::lock_guard lock(mutex_);
    DeviceSums& device = contents_.devices[event.device];
    device.title = event.title;
    device.plugin = event.plugin;
    device.peers = event.peers;
    contents_.has_ranks = contents_.has_ranks || event.rank >= 0;
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
    contents_.kernels.insert(event.kernels.begin(), event.kernels.end());
  }
  void end(const ConstructEnds& event) {
    const std::lock_guard lock(mutex_);
    if (Construct& of = constructs_[event.construct]; of.name.empty() && event.call.action == Action::kRegion)
      of.name = event.call.region;
    end(event.construct, site_of(event.call));
  }

  // Returns the sums, once. Constructs that go on are in those of their regions.
  std::optional<Contents> taken() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_taken_, true))
      return std::nullopt;
    for (const auto& [number, construct] : constructs_)
      if (!construct.name.empty())
        contents_.regions[construct.name].add(construct.sums);
    contents_.is_spread = is_spread;
    return std::move(contents_);
  }

private:
  struct Construct {
    std::string name; // of the kernel; "": it is no region, or not known to be one
    Sums sums;
  };

  void end(std::uint64_t number, const Site& site) {
    Construct over = std::move(constructs_[number]);
    constructs_.erase(number);
    over.sums.constructs = 1;
    (over.name.empty() ? contents_.sites[site] : contents_.regions[over.name]).add(over.sums);
  }

  std::mutex mutex_;
  std::map<std::uint64_t, Construct> constructs_; // that go on
  Contents contents_;
  bool is_taken_ = false;
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

// Returns the variable as the user has set it; "": not at all.
std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value ? value : "";
}

// Returns the width of the tables: COLUMNS, the width of the terminal, or 80.
std::size_t columns() {
  constexpr std::size_t kUsual = 80;
  if (const int wanted = std::atoi(variable("COLUMNS").c_str()); wanted > 0)
    return static_cast<std::size_t>(wanted);
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

// Writes the document to a file of this process. A truncated file is no valid JSON, so readers notice it.
void write_document(const std::string& folder, const Contents& contents) {
  const std::string path = folder + "/" + std::to_string(::getpid()) + ".json";
  const std::string text = summary_document(contents);
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || !file.write(Bytes(reinterpret_cast<const std::byte*>(text.data()), text.size())))
    tell("omptarget: ", "the summary is not in %s: %s", path.c_str(), std::strerror(errno));
}

} // namespace

void report_summary() {
  const std::string asked = variable("OMPTOOL_SUMMARY"), folder = variable("OMPTOOL_SUMMARY_JSON");
  const bool is_printed = asked == "1" || asked == "all";
  if (!is_printed && folder.empty())
    return;
  const bool has_run = PerProcess<Summary>::known(); // a shell that started the program has not
  const std::optional<Contents> contents = PerProcess<Summary>::get().taken();
  if (!contents)
    return;
  if (is_printed)
    for (const std::string& line : summary_lines(*contents, asked == "all" ? Rows::kAll : Rows::kFirst, columns()))
      tell("", "%s", line.c_str());
  if (has_run && !folder.empty())
    write_document(folder, *contents);
}

void summarize(bool spread) {
  const std::string asked = variable("OMPTOOL_SUMMARY");
  const bool has_value = !asked.empty() && asked != "0", is_known = asked == "1" || asked == "all";
  static std::atomic<bool> is_decided{false};
  if ((!has_value && variable("OMPTOOL_SUMMARY_JSON").empty()) || is_decided.exchange(true))
    return;
  if (has_value && !is_known)
    say("the runtime ignores OMPTOOL_SUMMARY=%s and uses 0; known values: 0, 1, all", asked.c_str());
  if (!is_known && variable("OMPTOOL_SUMMARY_JSON").empty())
    return;
  is_spread = spread;
  PerProcess<Summary>::get();
  static SummaryListener* const only = new SummaryListener; // threads go on while the process exits
  subscribe(*only, kHeard);
  call_before_abort(report_summary);
}

} // namespace omptool::observe
