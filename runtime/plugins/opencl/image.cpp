// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image.h"

#include "common/calls.h"
#include "compile/compiled.h"
#include "elf_file.h"
#include "loader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace omptool::opencl {
namespace {

constexpr std::string_view kArchitecture = "spirv64";
constexpr std::uint16_t kIntelGpu = 205;    // e_machine, EM_INTELGT
constexpr std::uint16_t kIntelCpu = 0xff04; // e_type of what Intel's driver for CPUs makes

// Returns whether the bytes are an ELF file of Intel's compilers or drivers, for clCreateProgramWithBinary.
bool is_intel_binary(Bytes bytes) {
  const std::optional<Elf64_Ehdr> header = elf_header(bytes);
  return header && (header->e_machine == kIntelGpu || (header->e_machine == EM_X86_64 && header->e_type == kIntelCpu));
}

Bytes bytes_of(const __tgt_device_image& image) {
  return {static_cast<const std::byte*>(image.ImageStart), static_cast<const std::byte*>(image.ImageEnd)};
}

// Shortens a text to one line of limited length.
std::string shortened(std::string text) {
  constexpr std::size_t kMost = 300;
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }), text.end());
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

} // namespace

std::string fault_of_image(Bytes bytes) {
  const char* const fault = is_intel_binary(bytes) ? nullptr : fault_of_spirv(bytes);
  return compile::fault_of(bytes, kArchitecture, fault ? fault : "");
}

std::unique_ptr<Image> Image::load(const Target& target, const __tgt_device_image& image) {
  // Compiles bitcode to SPIR-V, in one version for all devices; their drivers compile that.
  const compile::Compiled code = compile::compiled(bytes_of(image), {std::string(kArchitecture), {}, {}});
  std::unique_ptr<Image> loaded(new Image(target));
  std::string fault = code.fault.empty() ? fault_of_image(code.bytes) : code.fault;
  if (fault.empty())
    fault = loaded->build(code.bytes);
  const Entries wanted(image.EntriesBegin, image.EntriesEnd);
  const auto has_name = [](const __tgt_offload_entry& entry) { return entry.name != nullptr; };
  if (fault.empty()) {
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), has_name))
      loaded->add_all_kernels(); // the core pairs by position
    else
      for (const __tgt_offload_entry& entry : wanted)
        if (fault = loaded->add_by_name(entry); !fault.empty())
          break;
  }
  if (!fault.empty()) {
    fail("the image cannot be loaded: " + fault);
    return nullptr;
  }
  loaded->table_ = {loaded->entries_.data(), loaded->entries_.data() + loaded->entries_.size()};
  return loaded;
}

Image::~Image() {
  kernels_.clear();
  if (program_)
    target_.cl.clReleaseProgram(program_);
}

std::string Image::create(Bytes bytes) {
  cl_int error = CL_SUCCESS;
  is_spirv_ = !is_intel_binary(bytes);
  if (is_spirv_) {
    std::optional<Module> module = read_spirv(bytes);
    if (!module)
      return "its SPIR-V is cut off, or broken";
    contents_ = std::move(*module);
    const auto own = target_.cl.clCreateProgramWithIL;
    const auto call = own ? own : target_.found.extensions.clCreateProgramWithILKHR;
    program_ = call(target_.context, bytes.data(), bytes.size(), &error);
    return program_ ? "" : failure_of("clCreateProgramWithIL", error);
  }
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::size_t size = bytes.size();
  cl_int status = CL_SUCCESS;
  program_ = target_.cl.clCreateProgramWithBinary(target_.context, 1, &target_.found.device, &size,
                                                  const_cast<const unsigned char**>(&data), &status, &error);
  return program_ ? "" : failure_of("clCreateProgramWithBinary", error);
}

std::string Image::build(Bytes bytes) {
  if (const std::string fault = create(bytes); !fault.empty())
    return fault;
  // docs/kernels.md: what omp_get_device_num() gives. Most modules have no such constant.
  if (is_spirv_ && target_.cl.clSetProgramSpecializationConstant) {
    constexpr cl_uint kDeviceNumber = 1;
    target_.cl.clSetProgramSpecializationConstant(program_, kDeviceNumber, sizeof target_.number, &target_.number);
  }
  const cl_int error = target_.cl.clBuildProgram(program_, 1, &target_.found.device, "", nullptr, nullptr);
  if (error == CL_SUCCESS && !is_spirv_)
    list_kernels();
  if (error == CL_SUCCESS)
    return {};
  const std::string log = build_log();
  return failure_of("clBuildProgram", error) + (log.empty() ? "" : ": " + log);
}

std::string Image::build_log() const {
  std::size_t size = 0;
  const auto get = [&](std::size_t room, void* to, std::size_t* needed) {
    return target_.cl.clGetProgramBuildInfo(program_, target_.found.device, CL_PROGRAM_BUILD_LOG, room, to, needed);
  };
  if (get(0, nullptr, &size) != CL_SUCCESS || size == 0)
    return {};
  std::string log(size, '\0');
  if (get(size, log.data(), nullptr) != CL_SUCCESS)
    return {};
  log.resize(std::min(log.find('\0'), log.size()));
  return shortened(log);
}

// Lists the kernels of a native binary in the driver's order.
void Image::list_kernels() {
  std::size_t size = 0;
  if (target_.cl.clGetProgramInfo(program_, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size) != CL_SUCCESS)
    return;
  std::string names(size, '\0');
  if (target_.cl.clGetProgramInfo(program_, CL_PROGRAM_KERNEL_NAMES, size, names.data(), nullptr) != CL_SUCCESS)
    return;
  names.resize(std::min(names.find('\0'), names.size()));
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ';');)
    contents_.kernels.push_back({name, {}});
}

void* Image::kernel_named(const std::string& name) {
  for (const std::unique_ptr<Kernel>& kernel : kernels_) // of a region in a header, listed twice
    if (kernel->name() == name)
      return kernel->handle();
  const auto at = std::find_if(contents_.kernels.begin(), contents_.kernels.end(),
                               [&](const EntryPoint& entry) { return entry.name == name; });
  if (at == contents_.kernels.end())
    return nullptr;
  kernels_.push_back(
      std::make_unique<Kernel>(target_.cl, target_.found, target_.memory, program_, name, is_spirv_ ? &*at : nullptr));
  return kernels_.back()->handle();
}

std::string Image::add_by_name(const __tgt_offload_entry& wanted) {
  __tgt_offload_entry found{nullptr, wanted.name, wanted.size};
  std::string fault;
  if (wanted.name && *wanted.name && wanted.size > 0)
    fault = add_variable(wanted, found);
  else if (wanted.name && *wanted.name)
    found.addr = kernel_named(wanted.name);
  entries_.push_back(found);
  return fault;
}

std::string Image::add_variable(const __tgt_offload_entry& wanted, __tgt_offload_entry& found) {
  const std::string name = wanted.name;
  if (is_spirv_ && std::find(contents_.variables.begin(), contents_.variables.end(), name) == contents_.variables.end())
    return {}; // the image lacks it
  const auto address_of = target_.found.extensions.clGetDeviceGlobalVariablePointerINTEL;
  if (!address_of)
    return "it has the global variable " + name + ", and the driver lacks clGetDeviceGlobalVariablePointerINTEL";
  std::size_t size = 0;
  const cl_int error = address_of(target_.found.device, program_, wanted.name, &size, &found.addr);
  if (error != CL_SUCCESS && is_spirv_)
    return "global variable " + name + ", " + failure_of("clGetDeviceGlobalVariablePointerINTEL", error);
  if (error == CL_SUCCESS && size != static_cast<std::size_t>(wanted.size)) // copies would run past the shorter
    return "global variable " + name + " has " + std::to_string(wanted.size) + " bytes on the host and " +
           std::to_string(size) + " in the image";
  return {};
}

void Image::add_all_kernels() {
  for (const EntryPoint& entry : contents_.kernels)
    entries_.push_back({kernel_named(entry.name), const_cast<char*>(entry.name.c_str()), 0});
}

} // namespace omptool::opencl
