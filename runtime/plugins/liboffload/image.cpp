// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image.h"

#include "common/calls.h"
#include "compile/compiled.h"
#include "image_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace omptool::liboffload {
namespace {

constexpr char kEnvironment[] = "__omp_rtl_device_environment"; // of clang's device runtime
constexpr char kNumber[] = "__omptool_device_num";              // docs/kernels.md

Bytes given_bytes(const __tgt_device_image& image) {
  return {static_cast<const std::byte*>(image.ImageStart), static_cast<const std::byte*>(image.ImageEnd)};
}

} // namespace

std::unique_ptr<Image> Image::load(const Target& target, const __tgt_device_image& image) {
  auto loaded = std::make_unique<Image>(target);
  std::string fault = loaded->open(image);
  if (fault.empty())
    fault = loaded->set_numbers();
  for (const __tgt_offload_entry* wanted = image.EntriesBegin; fault.empty() && wanted != image.EntriesEnd; ++wanted)
    fault = loaded->add(*wanted);
  if (!fault.empty()) {
    fail("the image cannot be loaded: " + fault);
    return nullptr;
  }
  loaded->table_ = {loaded->entries_.data(), loaded->entries_.data() + loaded->entries_.size()};
  return loaded;
}

Image::~Image() {
  if (program_)
    target_.library.olDestroyProgram(program_);
}

// Opens the image. The library runs constructors of variables when it loads a program, and destructors when it unloads
// the program.
std::string Image::open(const __tgt_device_image& image) {
  const auto has_no_name = [](const __tgt_offload_entry& entry) { return !entry.name || !*entry.name; };
  if (image.EntriesBegin != image.EntriesEnd && std::all_of(image.EntriesBegin, image.EntriesEnd, has_no_name))
    return "the host's entries have no names, and the library finds those of an image by name only";
  const Found& found = target_.found;
  const compile::Compiled code = compile::compiled(given_bytes(image), {"amdgcn-amd-amdhsa", found.architecture, {}});
  if (!code.fault.empty())
    return code.fault;
  bytes_.assign(code.bytes.begin(), code.bytes.end());
  if (found.backend == OL_BACKEND_AMDGPU)
    if (std::string fault = fault_of(bytes_, {found.architecture}); !fault.empty())
      return fault;
  bool is_valid = false;
  const Library& library = target_.library;
  if (const ol_result failed = library.olIsValidBinary(found.device, bytes_.data(), bytes_.size(), &is_valid))
    return failure_of("olIsValidBinary", failed);
  if (!is_valid)
    return "liboffload says that " + found.name + " does not run it" +
           (processor_of(bytes_).empty() ? "" : ", which is code for " + processor_of(bytes_));
  const ol_result failed =
      library.create_program(target_.context, found.device, bytes_.data(), bytes_.size(), &program_);
  if (!failed)
    return {};
  program_ = nullptr;
  return failure_of("olCreateProgram", failed);
}

// The library numbers devices by itself.
std::string Image::set_numbers() {
  void* address = nullptr;
  std::size_t size = 0;
  std::string fault = find_variable(kEnvironment, address, size);
  is_clangs_ = address;
  const std::array<std::int32_t, 2> numbers{target_.found.count, target_.found.number};
  constexpr std::size_t kOffset = 4; // behind the kind of debugging
  if (fault.empty() && address && size >= kOffset + sizeof numbers)
    fault = write(static_cast<std::byte*>(address) + kOffset, &numbers, sizeof numbers);
  if (fault.empty())
    fault = find_variable(kNumber, address, size);
  if (fault.empty() && address && size == sizeof target_.found.number)
    fault = write(address, &target_.found.number, size);
  return fault;
}

// Returns whether the image has the name. Releases of the library answer differently for missing names, so only
// existing names are looked up.
bool Image::has_name(const std::string& name) const {
  const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  return all.find(std::string_view(name.c_str(), name.size() + 1)) != std::string_view::npos;
}

std::string Image::find_variable(const std::string& name, void*& address, std::size_t& size) {
  address = nullptr;
  if (!has_name(name))
    return {};
  const Library& library = target_.library;
  ol_symbol symbol = nullptr;
  ol_result failed = library.olGetSymbol(program_, name.c_str(), OL_VARIABLE, &symbol);
  if (failed && failed->code == OL_NOT_FOUND)
    return {};
  if (!failed)
    failed = library.olGetSymbolInfo(symbol, OL_VARIABLE_ADDRESS, sizeof address, &address);
  if (!failed)
    failed = library.olGetSymbolInfo(symbol, OL_VARIABLE_SIZE, sizeof size, &size);
  return failed ? "global " + name + ", " + failure_of("olGetSymbol", failed) : "";
}

std::string Image::write(void* to, const void* from, std::size_t size) {
  const ol_result failed = target_.library.olMemcpy(nullptr, to, target_.found.device, from, target_.host, size);
  return failed ? failure_of("olMemcpy", failed) : "";
}

std::string Image::read(const void* from, void* to, std::size_t size) {
  const ol_result failed = target_.library.olMemcpy(nullptr, to, target_.host, from, target_.found.device, size);
  return failed ? failure_of("olMemcpy", failed) : "";
}

std::string Image::read_kernel(const std::string& name, std::optional<gpu::ClangKernel>& kernel) {
  void* address = nullptr;
  std::size_t size = 0;
  std::string fault = find_variable(name + "_kernel_environment", address, size);
  if (fault.empty() && address) {
    gpu::KernelEnvironment environment{};
    fault = read(address, &environment, std::min(size, sizeof environment));
    kernel = gpu::clang_kernel_of(environment, size);
    return fault;
  }
  if (fault.empty())
    fault = find_variable(name + "_exec_mode", address, size);
  std::uint8_t mode = 0;
  if (fault.empty() && address) {
    fault = read(address, &mode, sizeof mode);
    kernel = gpu::clang_kernel_of(mode);
  }
  return fault;
}

std::string Image::add_kernel(const char* name, __tgt_offload_entry& found) {
  if (!has_name(name))
    return {};
  ol_symbol symbol = nullptr;
  const ol_result failed = target_.library.olGetSymbol(program_, name, OL_KERNEL, &symbol);
  if (failed)
    return failed->code == OL_NOT_FOUND ? "" : std::string("kernel ") + name + ", " + failure_of("olGetSymbol", failed);
  std::optional<gpu::ClangKernel> clang;
  std::string fault = is_clangs_ ? read_kernel(name, clang) : "";
  if (fault.empty())
    found.addr = &kernels_.emplace_back(name, symbol, clang);
  return fault;
}

std::string Image::add_variable(const __tgt_offload_entry& wanted, __tgt_offload_entry& found) {
  std::size_t size = 0;
  std::string fault = find_variable(wanted.name, found.addr, size);
  if (fault.empty() && found.addr && size != static_cast<std::uint64_t>(wanted.size)) // copies would run past one
    fault = "global " + std::string(wanted.name) + " has " + std::to_string(wanted.size) + " bytes on the host and " +
            std::to_string(size) + " in the image";
  return fault;
}

std::string Image::add(const __tgt_offload_entry& wanted) {
  __tgt_offload_entry found{nullptr, wanted.name, wanted.size};
  std::string fault;
  if (wanted.name && *wanted.name)
    fault = wanted.size > 0 ? add_variable(wanted, found) : add_kernel(wanted.name, found);
  entries_.push_back(found);
  return fault;
}

} // namespace omptool::liboffload
