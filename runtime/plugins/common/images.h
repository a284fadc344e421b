// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The images that a device has loaded.
#pragma once

#include "calls.h"
#include "omptarget_rtl.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace omptool::plugin {

// An Image has a table().
template <typename Image> class Images {
public:
  tgt_target_table* add(const __tgt_device_image& image, std::unique_ptr<Image> loaded) {
    tgt_target_table* const table = loaded->table();
    const std::lock_guard lock(mutex_);
    all_[&image] = std::move(loaded);
    return table;
  }
  // Removes the image and returns it, or returns null with last_error set if it is not loaded.
  std::unique_ptr<Image> take(const __tgt_device_image& image) {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(&image);
    if (at == all_.end()) {
      fail("this image is not loaded");
      return nullptr;
    }
    std::unique_ptr<Image> taken = std::move(at->second);
    all_.erase(at);
    return taken;
  }

  // Returns whether `is_so(image)` for one of them.
  template <typename Question> bool any_is(const Question& is_so) {
    const std::lock_guard lock(mutex_);
    return std::any_of(all_.begin(), all_.end(), [&](const auto& one) { return is_so(*one.second); });
  }

private:
  std::mutex mutex_;
  std::map<const __tgt_device_image*, std::unique_ptr<Image>> all_;
};

} // namespace omptool::plugin
