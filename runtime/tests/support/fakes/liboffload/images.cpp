// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: memory, images, and launches of functions in place of kernels.
#include "fake.h"
#include "kernels/call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fake_offload {
namespace {

struct Range {
  std::size_t size;
  bool is_variable;
};
std::map<std::uintptr_t, Range>& ranges = *new std::map<std::uintptr_t, Range>;

void add_range(const void* at, std::size_t size, bool is_variable) {
  const std::lock_guard lock(lock_of_all);
  ranges[reinterpret_cast<std::uintptr_t>(at)] = {size, is_variable};
}

// Opens a copy with the CPU's machine in its header: each program has variables of its own.
void* opened(const void* data, std::size_t size) {
#ifdef __x86_64__
  constexpr std::uint16_t kMachine = EM_X86_64;
#else
  constexpr std::uint16_t kMachine = EM_AARCH64;
#endif
  Elf64_Ehdr header;
  if (size < sizeof header)
    return nullptr;
  std::memcpy(&header, data, sizeof header);
  header.e_machine = kMachine;
  header.e_flags = 0;
  header.e_ident[EI_OSABI] = header.e_ident[EI_ABIVERSION] = 0;
  std::string copy = std::string(P_tmpdir) + "/fake_offload_XXXXXX";
  const int out = ::mkstemp(copy.data());
  const bool is_written = ::write(out, &header, sizeof header) == static_cast<ssize_t>(sizeof header) &&
                          ::write(out, static_cast<const char*>(data) + sizeof header, size - sizeof header) ==
                              static_cast<ssize_t>(size - sizeof header);
  ::close(out);
  void* const library = is_written ? ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  ::unlink(copy.c_str());
  if (!library)
    misuse(::dlerror());
  return library;
}

bool is_amds(const void* data, std::size_t size) {
  Elf64_Ehdr header;
  if (size < sizeof header)
    return false;
  std::memcpy(&header, data, sizeof header);
  constexpr std::uint16_t kAmd = 224;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == kAmd;
}

void run(const std::string& name, void* function, std::vector<void*> values, std::size_t times) {
  if (const char* const faulty = std::getenv("FAKE_OFFLOAD_FAULT"); faulty && name == faulty)
    set_fault();
  const std::size_t count = values.size();
  values.resize(std::max(count, omptool::host::kRegisterArguments));
  for (std::size_t i = 0; i < times; ++i)
    omptool::host::omptool_host_call(function, values.data(), count);
}

ol_result launch(Call& call, ol_queue queue, const Symbol& kernel, const ol_launch_size& size,
                 const std::vector<void*>& values) {
  const std::uint64_t threads = std::uint64_t{size.threads.x} * size.threads.y * size.threads.z;
  if (threads == 0 || threads > 1024 || !kernel.is_kernel || (queue && !has_handle(queue, "queue")))
    return call.ends(kInvalidArgument, "FAKE: no such launch");
  const std::size_t times =
      number_in("FAKE_OFFLOAD_ONCE", 0) ? 1 : std::size_t{size.groups.x} * size.groups.y * size.groups.z * threads;
  const auto work = [name = kernel.name, function = kernel.address, values, times] {
    run(name, function, values, times);
  };
  if (queue)
    add_work(*reinterpret_cast<Queue*>(queue), work);
  else
    work();
  return call.ends(kSuccess);
}

} // namespace

bool is_memory(const void* at, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::lock_guard lock(lock_of_all);
  const auto after = ranges.upper_bound(begin);
  if (after == ranges.begin())
    return false;
  const auto& [start, range] = *std::prev(after);
  return begin - start <= range.size && size <= range.size - (begin - start);
}

} // namespace fake_offload

using namespace fake_offload;

#if FAKE_RELEASE >= 24
#define CONTEXT ol_context context,
#define CHECK_CONTEXT                                                                                                  \
  if (!has_handle(context, "context"))                                                                                 \
    return call.ends(kInvalidArgument);
#else
#define CONTEXT
#define CHECK_CONTEXT
#endif

FAKE_EXPORT ol_result olMemAlloc(CONTEXT ol_device, std::uint32_t type, std::size_t size, void** made) {
  FAKE_CALL(call, olMemAlloc, type, size);
  CHECK_CONTEXT
  if (FAKE_RELEASE >= 24 && type == OL_ALLOC_HOST)
    return call.ends(kInvalidArgument, "FAKE: host memory by olMemAlloc");
  *made = size <= (std::size_t{16} << 30) ? std::malloc(size) : nullptr;
  if (!*made)
    return call.ends(7, "FAKE: out of memory");
  add_range(*made, size, false);
  return call.ends(kSuccess);
}

#if FAKE_RELEASE >= 24
FAKE_EXPORT ol_result olMemAllocHost(CONTEXT ol_device, std::size_t size, void** made) {
  FAKE_CALL(call, olMemAllocHost, size);
  CHECK_CONTEXT
  *made = std::malloc(size);
  add_range(*made, size, false);
  return call.ends(kSuccess);
}
FAKE_EXPORT ol_result olMemFree(CONTEXT void* memory) {
#else
FAKE_EXPORT ol_result olMemFree(void* memory) {
#endif
  FAKE_CALL(call, olMemFree);
  CHECK_CONTEXT {
    const std::lock_guard lock(lock_of_all);
    const auto at = ranges.find(reinterpret_cast<std::uintptr_t>(memory));
    if (at == ranges.end() || at->second.is_variable) {
      misuse("memory is freed that is not allocated");
      return nullptr;
    }
    ranges.erase(at);
  }
  std::free(memory);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olMemRegister(ol_device, void* memory, std::size_t size, std::uint32_t flags, void** locked) {
  FAKE_CALL(call, olMemRegister, size, flags);
  *locked = memory;
  return call.ends(kSuccess);
}

#if FAKE_RELEASE == 22
FAKE_EXPORT ol_result olMemUnregister(ol_device, void*) {
#else
FAKE_EXPORT ol_result olMemUnregister(ol_device, void*, std::uint32_t) {
#endif
  FAKE_CALL(call, olMemUnregister);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olMemcpy(ol_queue queue, void* target, ol_device to, const void* source, ol_device from,
                               std::size_t size) {
  FAKE_CALL(call, olMemcpy, size);
  const auto is_wrong = [&](ol_device device, const void* at) {
    return reinterpret_cast<Device*>(device)->backend != OL_BACKEND_HOST && !is_memory(at, size);
  };
  if (is_wrong(to, target) || is_wrong(from, source) || (queue && !has_handle(queue, "queue"))) {
    misuse("a copy of what is no memory of the device");
    return call.ends(kInvalidArgument, "FAKE: no memory of the device");
  }
  if (queue)
    add_work(*reinterpret_cast<Queue*>(queue), [=] { std::memmove(target, source, size); });
  else
    std::memmove(target, source, size);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olMemFill(ol_queue queue, void* target, std::size_t pattern, const void* value,
                                std::size_t size) {
  FAKE_CALL(call, olMemFill, pattern, size);
  if (!has_handle(queue, "queue") || pattern != 1 || !is_memory(target, size))
    return call.ends(kInvalidArgument, "FAKE: no such fill");
  const unsigned char byte = *static_cast<const unsigned char*>(value);
  add_work(*reinterpret_cast<Queue*>(queue), [=] { std::memset(target, byte, size); });
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olIsValidBinary(ol_device, const void* data, std::size_t size, bool* is_valid) {
  FAKE_CALL(call, olIsValidBinary, size);
  *is_valid = is_amds(data, size);
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olCreateProgram(CONTEXT ol_device, const void* data, std::size_t size, ol_program* made) {
  FAKE_CALL(call, olCreateProgram, size);
  CHECK_CONTEXT
  auto program = std::make_unique<Program>();
  program->library = is_amds(data, size) ? opened(data, size) : nullptr;
  if (!program->library)
    return call.ends(kInvalidBinary, "FAKE: no image");
  add_handle(program.get());
  *made = reinterpret_cast<ol_program>(program.release());
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olDestroyProgram(ol_program handle) {
  FAKE_CALL(call, olDestroyProgram);
  if (!has_handle(handle, "program"))
    return call.ends(kInvalidArgument);
  remove_handle(handle);
  auto* const program = reinterpret_cast<Program*>(handle);
  {
    const std::lock_guard lock(lock_of_all);
    for (const auto& [name, symbol] : program->symbols)
      if (!symbol.is_kernel)
        ranges.erase(reinterpret_cast<std::uintptr_t>(symbol.address));
  }
  ::dlclose(program->library);
  delete program;
  return call.ends(kSuccess);
}

FAKE_EXPORT ol_result olGetSymbol(ol_program handle, const char* name, std::uint32_t kind, ol_symbol* found) {
  FAKE_CALL(call, olGetSymbol, name, kind);
  if (!has_handle(handle, "program"))
    return call.ends(kInvalidArgument);
  auto* const program = reinterpret_cast<Program*>(handle);
  void* const address = ::dlsym(program->library, name);
  Dl_info info{};
  ElfW(Sym)* entry = nullptr;
  if (!address || !::dladdr1(address, &info, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) || !entry)
    return call.ends(kNotFound);
  const bool is_kernel = ELF64_ST_TYPE(entry->st_info) == STT_FUNC;
  if (is_kernel != (kind == OL_KERNEL))
    return call.ends(kNotFound);
  if (!is_kernel)
    add_range(address, entry->st_size, true);
  const std::lock_guard lock(lock_of_all);
  Symbol& symbol = program->symbols[name];
  symbol = {name, is_kernel, address, entry->st_size};
  *found = reinterpret_cast<ol_symbol>(&symbol);
  return nullptr;
}

FAKE_EXPORT ol_result olGetSymbolInfo(ol_symbol handle, std::uint32_t what, std::size_t size, void* value) {
  FAKE_CALL(call, olGetSymbolInfo, what);
  const auto* const symbol = reinterpret_cast<const Symbol*>(handle);
  if (symbol->is_kernel || size != sizeof symbol->size)
    return call.ends(kInvalidArgument);
  if (what == OL_VARIABLE_ADDRESS)
    std::memcpy(value, &symbol->address, size);
  else
    std::memcpy(value, &symbol->size, size);
  return call.ends(kSuccess);
}

#if FAKE_RELEASE == 22
FAKE_EXPORT ol_result olLaunchKernel(ol_queue queue, ol_device, ol_symbol kernel, const void* arguments,
                                     std::size_t bytes, const ol_launch_size* size) {
  const Symbol& symbol = *reinterpret_cast<const Symbol*>(kernel);
  FAKE_CALL(call, olLaunchKernel, symbol.name, size->groups.x, size->threads.x, size->memory, bytes / sizeof(void*));
  std::vector<void*> values(bytes / sizeof(void*));
  if (bytes)
    std::memcpy(values.data(), arguments, bytes);
#else
FAKE_EXPORT ol_result olLaunchKernel(ol_queue queue, ol_device, ol_symbol kernel, const ol_launch_size* size,
                                     const ol_launch_property* properties, std::size_t count, void** places,
                                     const std::size_t* sizes) {
  const Symbol& symbol = *reinterpret_cast<const Symbol*>(kernel);
  FAKE_CALL(call, olLaunchKernel, symbol.name, size->groups.x, size->threads.x, size->memory, count);
  if ((count > 0 && (!places || !sizes)) || (properties && properties->type > OL_LAUNCH_COOPERATIVE))
    return call.ends(kNull);
  std::vector<void*> values(count);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(&values[i], places[i], std::min(sizes[i], sizeof values[i]));
#endif
  return launch(call, queue, symbol, *size, values);
}
