// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "summary/document.h"

#include "output/json_text.h"
#include "region_name.h"

#include <string_view>
#include <unistd.h>

namespace omptool::observe {
namespace {

// Appends the members of an object, and closes it when it ends.
class Members {
public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  ~Members() { out_ += '}'; }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  std::string& begin(std::string_view name) {
    out_ += comma_;
    comma_ = ",";
    return out_.append("\"").append(name).append("\":");
  }
  void add(std::string_view name, std::string_view text) {
    begin(name).append("\"").append(json_text(text)).append("\"");
  }
  void add(std::string_view name, std::uint64_t number) { begin(name) += std::to_string(number); }
  void add(std::string_view name, std::int64_t number) { begin(name) += std::to_string(number); }
  void add(std::string_view name, Operation::Clock::duration time) {
    add(name, std::int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()});
  }
  void add(const Sums& sums) {
    add("launches", sums.launches);
    add("kernels_ns", sums.kernels);
    add("copies_ns", sums.copies);
    add("waited_ns", sums.waited);
    add("to_device", sums.to_device);
    add("to_host", sums.to_host);
  }
  // Appends an array with an object for each of `all`, which `add_one` fills.
  template <typename All, typename AddOne> void add_each(std::string_view name, const All& all, const AddOne& add_one) {
    begin(name) += '[';
    std::string_view comma = "";
    for (const auto& one : all) {
      out_ += comma;
      comma = ",";
      Members members(out_);
      add_one(members, one);
    }
    out_ += ']';
  }

private:
  std::string& out_;
  std::string_view comma_ = "";
};

void add_region(Members& to, const std::string& kernel, const std::map<std::string, std::string>& titles) {
  to.add("entry", kernel);
  to.add("region", titles.at(kernel));
}

} // namespace

std::string summary_document(const Contents& contents) {
  std::set<std::string> kernels = contents.kernels;
  for (const auto& [name, sums] : contents.regions)
    kernels.insert(name);
  const std::map<std::string, std::string> titles = region_names(kernels);
  std::string text;
  {
    Members process(text);
    process.add("process", std::int64_t{::getpid()});
    process.add_each("regions", contents.regions, [&](Members& to, const auto& one) {
      add_region(to, one.first, titles);
      to.add(one.second);
      to.add_each("on_host", one.second.on_host, [](Members& fallback, const auto& reason) {
        fallback.add("reason", reason.first);
        fallback.add("times", reason.second);
      });
    });
    process.add_each("not_launched", contents.not_launched(),
                     [&](Members& to, const std::string& name) { add_region(to, name, titles); });
    process.add_each("copies", contents.sites, [](Members& to, const auto& one) {
      to.add("place", one.first.place);
      to.add("construct", one.first.construct);
      to.add("times", one.second.constructs);
      to.add("copies_ns", one.second.copies);
      to.add("to_device", one.second.to_device);
      to.add("to_host", one.second.to_host);
    });
    process.add_each("devices", contents.devices, [](Members& to, const auto& one) {
      to.add("device", std::int64_t{one.first});
      to.add("title", one.second.title);
      to.add(one.second.sums);
    });
    process.add("devices_not_used", std::int64_t{contents.idle_devices().second});
  }
  return text;
}

} // namespace omptool::observe
