// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: images are loaded as far as their names go, and launches are put into streams, where nothing of them runs but
// the functions that FAKE_CUDA_KERNELS has in their place.
#include "images.h"
#include "kernels/call.h"
#include "ranges.h"
#include "state.h"
#include "streams.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace fake_cuda {
namespace {

struct Module;
struct Function {
  const Module* module = nullptr;
  std::string name;
  std::vector<std::size_t> parameters;
  int dynamic_memory = kUsualMemory;
  void* stand_in = nullptr;
};
struct Module {
  int device = 0;
  void* stand_ins = nullptr;
  ImageNames names;
  std::map<std::string, Function> functions;
};
std::set<Module*>& modules = *new std::set<Module*>;
std::set<Function*>& functions = *new std::set<Function*>;

// Opens a copy of the stand-ins for each module, because each has variables of its own.
void* open_stand_ins() {
  const char* const path = std::getenv("FAKE_CUDA_KERNELS");
  if (!path)
    return nullptr;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::string copy = std::string(P_tmpdir) + "/fake_cuda_XXXXXX";
  const int out = ::mkstemp(copy.data());
  [[maybe_unused]] const ssize_t written = ::write(out, bytes.data(), bytes.size());
  ::close(out);
  void* const handle = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  ::unlink(copy.c_str());
  if (!handle)
    misuse(::dlerror());
  return handle;
}

std::string_view elf_at(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  std::size_t end = std::max(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                             header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, static_cast<const char*>(image) + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS)
      end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  }
  return {static_cast<const char*>(image), end};
}

// ".version 8.7": 87.
int version_of_ptx(std::string_view text) {
  const std::size_t at = text.find(".version ");
  if (at == std::string_view::npos)
    return 0;
  char* end = nullptr;
  const long major = std::strtol(text.data() + at + 9, &end, 10);
  return static_cast<int>(10 * major + (*end == '.' ? std::strtol(end + 1, nullptr, 10) : 0));
}

void say(unsigned count, const CUjit_option* options, void** values, const std::string& text) {
  char* log = nullptr;
  std::size_t room = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      room = reinterpret_cast<std::uintptr_t>(values[i]);
  }
  if (log && room)
    log[text.copy(log, room - 1)] = '\0';
}

CUresult read_names(const void* image, ImageNames& names, std::string& log);

// Reads the first entry of a fat binary with PTX or an uncompressed cubin.
CUresult read_fatbin(const char* image, ImageNames& names, std::string& log) {
  std::uint16_t header = 0;
  std::uint64_t size = 0;
  std::memcpy(&header, image + 6, sizeof header);
  std::memcpy(&size, image + 8, sizeof size);
  for (std::size_t at = header; at < header + size;) {
    std::uint32_t own = 0, packed = 0;
    std::uint64_t payload = 0;
    std::memcpy(&own, image + at + 4, sizeof own);
    std::memcpy(&payload, image + at + 8, sizeof payload);
    std::memcpy(&packed, image + at + 16, sizeof packed);
    if (packed == 0 && read_names(image + at + own, names, log) == CUDA_SUCCESS)
      return CUDA_SUCCESS;
    at += own + payload;
  }
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult read_names(const void* image, ImageNames& names, std::string& log) {
  const auto* const text = static_cast<const char*>(image);
  if (std::memcmp(text, "\x50\xed\x55\xba", 4) == 0)
    return read_fatbin(text, names, log);
  if (std::memcmp(text, ELFMAG, SELFMAG) == 0) {
    names = names_in_cubin(elf_at(image));
    return CUDA_SUCCESS;
  }
  if (!std::strstr(text, ".target"))
    return CUDA_ERROR_INVALID_IMAGE;
  if (const int newest = static_cast<int>(number_in("FAKE_CUDA_PTX", 90)); version_of_ptx(text) > newest) {
    log = "ptxas application ptx input, line 1; fatal   : Unsupported .version;\ncurrent version is '" +
          std::to_string(newest / 10) + "." + std::to_string(newest % 10) + "'\n";
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  names = names_in_ptx(text);
  return CUDA_SUCCESS;
}

Module* module_of(CUmodule handle) {
  const std::lock_guard lock(lock_of_all);
  auto* const module = reinterpret_cast<Module*>(handle);
  if (modules.contains(module))
    return module;
  misuse("no such module");
  return nullptr;
}

Function* function_of(CUfunction handle) {
  const std::lock_guard lock(lock_of_all);
  auto* const function = reinterpret_cast<Function*>(handle);
  if (functions.contains(function))
    return function;
  misuse("no such function");
  return nullptr;
}

// Reads the values of the parameters, 8 bytes each.
CUresult read_arguments(const Function& function, void** each, void** words, std::vector<void*>& values) {
  std::size_t total = 0;
  for (const std::size_t size : function.parameters)
    total += size;
  std::vector<char> bytes;
  if (each) {
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const char* const from = static_cast<const char*>(each[i]);
      bytes.insert(bytes.end(), from, from + function.parameters[i]);
    }
  } else if (words) {
    const auto* const from = static_cast<const char*>(words[1]);
    bytes.assign(from, from + *static_cast<std::size_t*>(words[3]));
  }
  if (bytes.size() != total) {
    misuse("kernel " + function.name + " has " + std::to_string(total) + " bytes of parameters and gets " +
           std::to_string(bytes.size()));
    return CUDA_ERROR_INVALID_VALUE;
  }
  constexpr std::size_t kWord = sizeof(void*);
  for (std::size_t at = 0; at < total; at += kWord) {
    void* value = nullptr;
    std::memcpy(&value, bytes.data() + at, std::min(kWord, total - at));
    values.push_back(value);
  }
  return CUDA_SUCCESS;
}

// Notes the contents of memory that the kernel's arguments point to, in a line, at the kernel's turn in the stream.
void note_contents(const Function& function, const std::vector<void*>& values) {
  static const std::size_t most = static_cast<std::size_t>(number_in("FAKE_CUDA_CONTENTS", 0));
  if (most == 0)
    return;
  Call call("# runs", function.name);
  for (const void* const value : values) {
    call.note(value);
    call.note(content_at(value, most));
  }
  call.ends(CUDA_SUCCESS);
}

void run(const Function& function, std::vector<void*> values, std::size_t times) {
  note_contents(function, values);
  if (const char* const faulty = std::getenv("FAKE_CUDA_FAULT"); faulty && function.name == faulty)
    set_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
  const std::size_t count = values.size();
  values.resize(std::max(count, omptool::host::kRegisterArguments));
  for (std::size_t i = 0; function.stand_in && i < times; ++i)
    omptool::host::omptool_host_call(function.stand_in, values.data(), count);
}

CUresult queue_launch(Call& call, Function* function, const unsigned (&grid)[7], CUstream in, void** each,
                      void** words) {
  Stream* const stream = function && in ? find(in) : nullptr;
  if (!function || (in && !stream))
    return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = current_device() < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
  if (result != CUDA_SUCCESS || (stream && !is_current(*stream, result)))
    return result;
  if (grid[3] * grid[4] * grid[5] > kMostThreads || static_cast<int>(grid[6]) > function->dynamic_memory)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<void*> values;
  result = read_arguments(*function, each, words, values);
  for (const void* const value : values)
    call.note(value);
  if (result != CUDA_SUCCESS)
    return result;
  const std::size_t times = std::size_t{grid[0]} * grid[1] * grid[2] * grid[3] * grid[4] * grid[5];
  if (stream)
    add(*stream, [=] { run(*function, values, times); });
  else
    run(*function, values, times); // in the default stream, whose user waits next
  return result;
}

} // namespace
} // namespace fake_cuda

using namespace fake_cuda;

// Counts the loaded modules, for tests. The parameter is not used.
FAKE_EXPORT int fake_cuda_modules(int) {
  const std::lock_guard lock(lock_of_all);
  return static_cast<int>(modules.size());
}

FAKE_EXPORT CUresult cuModuleLoadDataEx(CUmodule* made, const void* image, unsigned count, CUjit_option* options,
                                        void** values) {
  FAKE_CALL(call, cuModuleLoadDataEx);
  if (current_device() < 0)
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  auto module = std::make_unique<Module>();
  module->device = current_device();
  std::string log;
  if (const CUresult result = read_names(image, module->names, log); result != CUDA_SUCCESS) {
    say(count, options, values, log);
    return call.ends(result);
  }
  module->stand_ins = open_stand_ins();
  for (auto& [name, bytes] : module->names.variables)
    add_range(bytes.data(), bytes.size(), Kind::kVariable);
  const std::lock_guard lock(lock_of_all);
  modules.insert(module.get());
  *made = reinterpret_cast<CUmodule>(module.release());
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuModuleUnload(CUmodule handle) {
  FAKE_CALL(call, cuModuleUnload);
  Module* const module = module_of(handle);
  if (!module)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  for (auto& [name, bytes] : module->names.variables)
    remove_range(bytes.data(), Kind::kVariable);
  const std::lock_guard lock(lock_of_all);
  modules.erase(module);
  for (auto& [name, function] : module->functions)
    functions.erase(&function);
  if (module->stand_ins)
    ::dlclose(module->stand_ins);
  delete module;
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuModuleGetFunction(CUfunction* found, CUmodule handle, const char* name) {
  FAKE_CALL(call, cuModuleGetFunction, name);
  Module* const module = module_of(handle);
  if (!module)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  const auto known = module->names.kernels.find(name);
  if (known == module->names.kernels.end())
    return call.ends(CUDA_ERROR_NOT_FOUND);
  const std::lock_guard lock(lock_of_all);
  Function& function = module->functions[name];
  function.module = module;
  function.name = name;
  function.parameters = known->second;
  function.stand_in = module->stand_ins ? ::dlsym(module->stand_ins, name) : nullptr;
  functions.insert(&function);
  *found = reinterpret_cast<CUfunction>(&function);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* size, CUmodule handle, const char* name) {
  FAKE_CALL(call, cuModuleGetGlobal, name);
  Module* const module = module_of(handle);
  if (!module)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  const auto known = module->names.variables.find(name);
  if (known == module->names.variables.end())
    return call.ends(CUDA_ERROR_NOT_FOUND);
  void* const stand_in = module->stand_ins ? ::dlsym(module->stand_ins, name) : nullptr;
  if (stand_in)
    add_range(stand_in, known->second.size(), Kind::kVariable);
  *address = reinterpret_cast<CUdeviceptr>(stand_in ? stand_in : known->second.data());
  *size = known->second.size();
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  FAKE_CALL(call, cuFuncGetAttribute, attribute);
  if (!function_of(handle))
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? kMostThreads : 0;
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  FAKE_CALL(call, cuFuncSetAttribute, attribute, value);
  Function* const function = function_of(handle);
  if (!function)
    return call.ends(CUDA_ERROR_INVALID_HANDLE);
  function->dynamic_memory = value;
  return call.ends(value <= kMostMemory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

FAKE_EXPORT CUresult cuFuncGetParamInfo(CUfunction handle, std::size_t number, std::size_t* offset, std::size_t* size) {
  FAKE_CALL(call, cuFuncGetParamInfo, number);
  const Function* const function = function_of(handle);
  if (!function || number >= function->parameters.size())
    return call.ends(function ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
  *offset = 8 * number;
  *size = function->parameters[number];
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int* blocks, int* threads, CUfunction handle, CUoccupancyB2DSize,
                                                      std::size_t memory, int limit) {
  FAKE_CALL(call, cuOccupancyMaxPotentialBlockSize, memory, limit);
  *blocks = 2 * kUnits;
  *threads = 128;
  return call.ends(function_of(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

FAKE_EXPORT CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned memory,
                                    CUstream stream, void** each, void** words) {
  Function* const function = function_of(handle);
  const char* const name = function ? function->name.c_str() : "?";
  FAKE_CALL(call, cuLaunchKernel, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, memory, stream);
  return call.ends(
      queue_launch(call, function, {grid_x, grid_y, grid_z, block_x, block_y, block_z, memory}, stream, each, words));
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned memory,
                                               CUstream stream, void** each) {
  Function* const function = function_of(handle);
  const char* const name = function ? function->name.c_str() : "?";
  FAKE_CALL(call, cuLaunchCooperativeKernel, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, memory, stream);
  return call.ends(
      queue_launch(call, function, {grid_x, grid_y, grid_z, block_x, block_y, block_z, memory}, stream, each, nullptr));
}
