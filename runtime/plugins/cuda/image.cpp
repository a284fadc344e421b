// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image.h"

#include "clang_image.h"
#include "common/calls.h"
#include "region_name.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace omptool::cuda {
namespace {

constexpr char kDeviceNumber[] = "__omptool_device_num"; // docs/kernels.md

Bytes bytes_of(const __tgt_device_image& image) {
  return {static_cast<const std::byte*>(image.ImageStart), static_cast<const std::byte*>(image.ImageEnd)};
}

// Joins the lines of the driver's compiler to one.
std::string in_one_line(const char* log) {
  std::string line;
  for (; *log; ++log) {
    const bool is_blank = *log == '\n' || *log == '\r' || *log == ' ';
    if (!is_blank)
      line += *log;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ')
    line.pop_back();
  return line;
}

} // namespace

std::unique_ptr<Image> Image::load(const Context& context, const __tgt_device_image& image, Extents extents,
                                   const DevicePlace& device) {
  auto loaded = std::make_unique<Image>(context);
  const Bytes bytes = bytes_of(image);
  if (!loaded->open(bytes) || !loaded->find_environment(device) || !loaded->build_table(image) ||
      !loaded->set_device_number(device.number))
    return nullptr;
  if (!loaded->is_clangs_)
    return loaded;
  if (!loaded->set_indirect_calls(image, extents))
    return nullptr;
  if (!loaded->run_functions("init", names_with(bytes, "__init_array_object_")))
    return nullptr;
  loaded->destructors_ = names_with(bytes, "__fini_array_object_");
  return loaded;
}

Image::~Image() {
  if (module_ && context_.enter().ok())
    static_cast<void>(close());
}

Outcome Image::close() {
  Outcome outcome = OMPTOOL_CUDA(context_.driver, cuModuleUnload, module_);
  module_ = nullptr;
  if (const CUdeviceptr table = std::exchange(indirect_calls_, 0))
    if (const Outcome freed = OMPTOOL_CUDA(context_.driver, cuMemFree_v2, table); outcome.ok())
      outcome = freed;
  return outcome;
}

std::int32_t Image::unload() {
  const bool are_destroyed = run_functions("fini", destructors_);
  Outcome outcome = context_.enter();
  if (outcome.ok())
    outcome = close();
  module_ = nullptr;
  if (!are_destroyed && outcome.ok())
    return 1;
  return has_ended(outcome) ? 0 : fail_of(context_.driver, outcome, "the image is not unloaded");
}

bool Image::open(Bytes bytes) {
  std::string text; // PTX ends with a zero
  const void* start = bytes.data();
  if (kind_of(bytes) == ImageKind::kPtx) {
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    start = text.c_str();
  }
  std::array<char, 4096> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  Outcome outcome = context_.enter();
  if (outcome.ok())
    outcome = context_.taking_memory([&] {
      return OMPTOOL_CUDA(context_.driver, cuModuleLoadDataEx, &module_, start, 2, options.data(), values.data());
    });
  if (outcome.ok())
    return true;
  module_ = nullptr;
  const std::string said = in_one_line(log.data());
  fail("the image cannot be loaded: " + text_of(context_.driver, outcome) + (said.empty() ? "" : ": ") + said);
  return false;
}

bool Image::find_variable(const char* name, CUdeviceptr& address, std::size_t& size) const {
  address = 0;
  size = 0;
  const Outcome outcome = OMPTOOL_CUDA(context_.driver, cuModuleGetGlobal_v2, &address, &size, module_, name);
  if (outcome.ok())
    return true;
  address = 0;
  if (outcome.result == CUDA_ERROR_NOT_FOUND)
    return true;
  fail_of(context_.driver, outcome, std::string("variable ") + name);
  return false;
}

bool Image::find_environment(const DevicePlace& device) {
  return ClangImage(context_, module_).set_environment(device.limits, device.number, device.count, is_clangs_);
}

// Runs the constructors or destructors of variables. Clang 17 and earlier have entries for them, which the core runs.
bool Image::run_functions(const char* which, const std::vector<std::string>& names) {
  return names.empty() || (context_.enter().ok() && ClangImage(context_, module_).run_functions(which, names));
}

bool Image::set_indirect_calls(const __tgt_device_image& image, Extents extents) {
  std::vector<IndirectEntry> entries;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] > 0 && entries_[i].addr && entries_[i].size == sizeof(CUdeviceptr))
      entries.push_back({entries_[i].name, reinterpret_cast<std::uint64_t>(image.EntriesBegin[i].addr),
                         static_cast<std::uint64_t>(extents[i]), reinterpret_cast<CUdeviceptr>(entries_[i].addr)});
  return ClangImage(context_, module_).set_indirect_calls(entries, indirect_calls_);
}

bool Image::set_device_number(std::int32_t number) {
  const Driver& driver = context_.driver;
  CUdeviceptr address = 0;
  std::size_t size = 0;
  if (!find_variable(kDeviceNumber, address, size))
    return false;
  if (!address || size != sizeof number)
    return true;
  Outcome outcome = OMPTOOL_CUDA(driver, cuMemcpyHtoD_v2, address, &number, sizeof number);
  if (outcome.ok())
    return true;
  fail_of(driver, outcome, std::string("variable ") + kDeviceNumber);
  return false;
}

bool Image::find(const __tgt_offload_entry& wanted, __tgt_offload_entry& found) {
  if (wanted.size == 0) {
    CUfunction function = nullptr;
    const Outcome outcome = context_.taking_memory( // for code that the driver loads no earlier
        [&] { return OMPTOOL_CUDA(context_.driver, cuModuleGetFunction, &function, module_, wanted.name); });
    std::optional<ClangKernel> clang;
    if (outcome.ok() && is_clangs_ && !ClangImage(context_, module_).read_kernel(wanted.name, clang))
      return false;
    if (outcome.ok())
      found.addr = &kernels_.emplace_back(wanted.name, function, clang);
    else if (outcome.result != CUDA_ERROR_NOT_FOUND)
      fail_of(context_.driver, outcome, "kernel " + region_name(wanted.name));
    return outcome.ok() || outcome.result == CUDA_ERROR_NOT_FOUND;
  }
  CUdeviceptr address = 0;
  std::size_t size = 0;
  if (!find_variable(wanted.name, address, size))
    return false;
  found.addr = reinterpret_cast<void*>(address);
  // Copies of a variable would run past the shorter of the two.
  if (!address || static_cast<std::uint64_t>(wanted.size) == size)
    return true;
  fail("global " + std::string(wanted.name) + " has " + std::to_string(wanted.size) + " bytes on the host and " +
       std::to_string(size) + " in the image");
  return false;
}

bool Image::build_table(const __tgt_device_image& image) {
  const auto has_no_name = [](const __tgt_offload_entry& entry) { return !entry.name || !*entry.name; };
  if (image.EntriesBegin != image.EntriesEnd && std::all_of(image.EntriesBegin, image.EntriesEnd, has_no_name)) {
    fail("the host's entries have no names, and the driver finds those of a GPU's image by name only");
    return false;
  }
  for (const __tgt_offload_entry* wanted = image.EntriesBegin; wanted != image.EntriesEnd; ++wanted) {
    __tgt_offload_entry found{nullptr, wanted->name, wanted->size};
    if (!has_no_name(*wanted) && !find(*wanted, found))
      return false;
    entries_.push_back(found);
  }
  table_ = {entries_.data(), entries_.data() + entries_.size()};
  return true;
}

} // namespace omptool::cuda
