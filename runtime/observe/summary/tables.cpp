// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "summary/tables.h"

#include "counted.h"
#include "region_name.h"
#include "summary/layout.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <tuple>

namespace omptool::observe {
namespace {

using Duration = Operation::Clock::duration;
using Titles = std::map<std::string, std::string>;

constexpr std::size_t kMost = 20; // rows of a table, and lines of one kind
constexpr const char* kHowToSeeAll = "(--summary=all)";

double nanoseconds(Duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}
std::string share_of(Duration time, Duration all) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f%%", nanoseconds(time) / nanoseconds(all) * 100);
  return all > Duration() ? text : "-";
}
std::string bytes_of(std::int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}
std::string time_of(Duration time) {
  return time_text(nanoseconds(time));
}

struct Titled {
  std::string title;
  Sums sums;
};

// Returns the rows with the longest first, one for those that are not shown, and their sum.
std::vector<Titled> chosen(std::vector<Titled> all, Rows rows) {
  std::sort(all.begin(), all.end(), [](const Titled& one, const Titled& other) {
    return std::tuple(other.sums.time(), std::string_view(one.title)) <
           std::tuple(one.sums.time(), std::string_view(other.title));
  });
  Titled total{"total", {}}, others;
  for (const Titled& one : all)
    total.sums.add(one.sums);
  if (rows == Rows::kFirst && all.size() > kMost) {
    for (std::size_t i = kMost; i < all.size(); ++i)
      others.sums.add(all[i].sums);
    others.title = std::to_string(all.size() - kMost) + " more " + kHowToSeeAll;
    all.resize(kMost);
    all.push_back(others);
  }
  all.push_back(total);
  return all;
}

class Lines {
public:
  Lines(const Contents& contents, Rows rows, std::size_t width)
      : contents_(contents), rows_(rows), width_(width), total_(contents.total().time()) {
    std::set<std::string> all = contents.kernels;
    for (const auto& [name, sums] : contents.regions)
      all.insert(name);
    titles_ = region_names(all);
  }

  std::vector<std::string> all() {
    const bool has_copies = std::any_of(contents_.sites.begin(), contents_.sites.end(), copies);
    if (contents_.regions.empty() && (!has_copies || !contents_.kernels.empty()))
      lines_.emplace_back("Regions: none");
    if (!contents_.regions.empty())
      add_regions();
    add_fallbacks();
    add_not_launched();
    if (has_copies)
      add_copies();
    if (contents_.has_ranks)
      add_devices();
    add_idle_devices();
    return std::move(lines_);
  }

private:
  static bool copies(const std::pair<const Site, Sums>& one) { return one.second.has_copied(); }

  void add_table(const char* title, const Table& table) {
    lines_.emplace_back(title);
    for (std::string& line : table.lines(width_))
      lines_.push_back(std::move(line));
  }
  void add_some(const std::vector<std::string>& more, const std::string& kind) {
    const std::size_t shown = rows_ == Rows::kAll ? more.size() : std::min(more.size(), kMost);
    lines_.insert(lines_.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(shown));
    if (shown < more.size())
      lines_.push_back("  " + std::to_string(more.size() - shown) + " more " + kind + " " + kHowToSeeAll);
  }

  void add_regions() {
    std::vector<Titled> regions;
    bool any_on_host = false;
    for (const auto& [name, sums] : contents_.regions) {
      regions.push_back({titles_.at(name), sums});
      any_on_host = any_on_host || !sums.on_host.empty();
    }
    constexpr std::size_t kWaited = 5;
    Table table{{"region", "time", "kernels", "copies", "runs", "waited", "to device", "to host"}, {}, kWaited};
    if (any_on_host)
      table.headers.emplace_back("on host");
    for (const auto& [title, sums] : chosen(regions, rows_)) {
      table.rows.push_back({title, share_of(sums.time(), total_), time_of(sums.kernels), time_of(sums.copies),
                            std::to_string(sums.launches), time_of(sums.waited), bytes_of(sums.to_device),
                            bytes_of(sums.to_host)});
      if (any_on_host)
        table.rows.back().push_back(std::to_string(sums.fallbacks()));
    }
    add_table("Regions:", table);
  }
  void add_fallbacks() {
    std::vector<std::string> more;
    for (const auto& [name, sums] : contents_.regions)
      for (const auto& [reason, count] : sums.on_host)
        more.push_back("  " + titles_.at(name) + " ran " + counted(static_cast<std::int64_t>(count), "time") +
                       " on the host: " + reason);
    add_some(more, "regions ran on the host");
  }
  // Adds regions of registered libraries that were never launched.
  void add_not_launched() {
    std::vector<std::string> more;
    for (const std::string& name : contents_.not_launched())
      more.push_back("  " + titles_.at(name) + " not launched (not called, or its `if` was false)");
    add_some(more, "regions were not launched");
  }
  void add_copies() {
    std::vector<Titled> sites;
    for (const auto& [site, sums] : contents_.sites)
      if (sums.has_copied())
        sites.push_back({title_of(site), sums});
    Table table{{"copies of", "time", "copies", "times", "to device", "to host"}, {}};
    for (const auto& [title, sums] : chosen(sites, rows_))
      table.rows.push_back({title, share_of(sums.time(), total_), time_of(sums.copies), std::to_string(sums.constructs),
                            bytes_of(sums.to_device), bytes_of(sums.to_host)});
    add_table("Copies:", table);
  }
  static std::string title_of(const Site& site) {
    if (site.place.empty())
      return site.construct + " (no source line)";
    const std::size_t folder = site.place.rfind('/'), column = site.place.rfind(':');
    const std::size_t begin = folder == std::string::npos ? 0 : folder + 1;
    return site.place.substr(begin, column - begin) + " " + site.construct;
  }
  void add_devices() {
    Table table{{"device", "launches", "kernels", "copies", "to device", "to host"}, {}};
    for (const auto& [number, device] : contents_.devices)
      table.rows.push_back({"device " + std::to_string(number) + " (" + device.title + ")",
                            std::to_string(device.sums.launches), time_of(device.sums.kernels),
                            time_of(device.sums.copies), bytes_of(device.sums.to_device),
                            bytes_of(device.sums.to_host)});
    add_table("Devices:", table);
  }
  void add_idle_devices() {
    const auto [all, idle] = contents_.idle_devices();
    if (idle > 0 && !contents_.is_spread)
      lines_.push_back(std::to_string(idle) + " of " + std::to_string(all) + " devices " +
                       (idle == 1 ? "was" : "were") +
                       " not used: OMPTOOL_DEVICE_POLICY=least-loaded spreads regions over them");
  }

  const Contents& contents_;
  const Rows rows_;
  const std::size_t width_;
  const Duration total_;
  Titles titles_;
  std::vector<std::string> lines_;
};

} // namespace

std::vector<std::string> summary_lines(const Contents& contents, Rows rows, std::size_t width) {
  return Lines(contents, rows, width).all();
}

} // namespace omptool::observe
