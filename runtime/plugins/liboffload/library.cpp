// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "library.h"

#include "settings.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <type_traits>
#include <vector>

namespace omptool::liboffload {
namespace {

constexpr char kSoname[] = "libLLVMOffload.so.";

// Reads the soname, which a library keeps under any file name.
std::string soname_of(void* library) {
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map)
    return {};
  const char* strings = nullptr;
  ElfW(Xword) name = 0;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) // an address, or on some machines an offset
      strings = reinterpret_cast<const char*>(entry->d_un.d_ptr < map->l_addr ? map->l_addr + entry->d_un.d_ptr
                                                                              : entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME)
      name = entry->d_un.d_val;
  }
  return strings && name ? strings + name : "";
}

std::string file_of(void* library) {
  link_map* map = nullptr;
  return ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : "";
}

// Returns the release in a soname, or 0 if there is none.
int release_of(const std::string& soname) {
  const std::size_t length = sizeof kSoname - 1;
  return soname.compare(0, length, kSoname) == 0 ? std::atoi(soname.c_str() + length) : 0;
}

// Usual names of the library, newest first. Snapshots of a release end in .0.
std::vector<std::string> usual_names() {
  std::vector<std::string> names;
  for (int release = kLastRelease; release >= kFirstRelease; --release)
    for (const char* const minor : {".1", ".0"})
      names.push_back(kSoname + std::to_string(release) + minor);
  names.push_back("libLLVMOffload.so");
  return names;
}

void* open_any(const std::vector<std::string>& names, std::string& why) {
  for (const std::string& name : names) {
    if (void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    const char* const reason = ::dlerror();
    // A library that exists and cannot be loaded has a more useful reason than files that do not exist.
    const bool is_missing = reason && std::strstr(reason, (name + ": cannot open shared object file: No such").c_str());
    if (why.empty() || !is_missing)
      why = reason ? reason : name;
    if (!is_missing)
      break;
  }
  return nullptr;
}

template <typename Function> Function* as(void* function) {
  return reinterpret_cast<Function*>(function);
}

} // namespace

std::string failure_of(const char* call, ol_result result) {
  std::string text = call;
  if (result && result->details && *result->details)
    text += std::string(": ") + result->details;
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  text.erase(text.find_last_not_of(" .") + 1);
  return text + " (" + std::to_string(result ? result->code : 0) + ")";
}

std::string Library::open() {
  const std::string path = library_path();
  std::string why;
  // Opens the library for good: its drivers have threads and exit handlers.
  void* const library = open_any(path.empty() ? usual_names() : std::vector<std::string>{path}, why);
  if (!library)
    return path.empty() ? "no liboffload of LLVM 22, 23 or 24 (" + why +
                              "): install liboffload-24, or name the file in OMPTOOL_LIBOFFLOAD_PATH"
                        : "OMPTOOL_LIBOFFLOAD_PATH=" + path + " cannot be opened: " + why;
  path_ = file_of(library);
  const std::string soname = soname_of(library);
  release_ = release_of(soname);
  if (release_ < kFirstRelease || release_ > kLastRelease)
    return path_ + " is " + (soname.empty() ? "no library with a name" : soname) +
           ", whose interface is not known; known releases of liboffload: 22, 23, 24";
  return find_functions(library);
}

std::string Library::find_functions(void* library) {
  std::string missing;
  const auto find = [&](const char* name, auto& place) {
    place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(::dlsym(library, name));
    if (!place)
      missing += missing.empty() ? name : std::string(", ") + name;
  };
#define OMPTOOL_OL_FIND(name, ...) find(#name, name);
  OMPTOOL_OL_SAME(OMPTOOL_OL_FIND)
#undef OMPTOOL_OL_FIND
#define OMPTOOL_OL_FIND(name) find(#name, name##_);
  OMPTOOL_OL_DIFFERING(OMPTOOL_OL_FIND)
  if (has_contexts()) {
    OMPTOOL_OL_OF_24(OMPTOOL_OL_FIND)
  }
#undef OMPTOOL_OL_FIND
  return missing.empty() ? "" : path_ + " lacks " + missing;
}

ol_result Library::init(const std::uint32_t* backends, std::uint32_t count) const {
  if (release_ == 22)
    return as<olInit_22>(olInit_)();
  const ol_init_arguments arguments{sizeof arguments, count, backends};
  return as<olInit_23>(olInit_)(&arguments);
}

ol_result Library::create_context(ol_device device, ol_context* made) const {
  *made = nullptr;
  return has_contexts() ? as<olCreateContext_24>(olCreateContext_)(1, &device, made) : nullptr;
}

ol_result Library::create_program(ol_context context, ol_device device, const void* data, std::size_t size,
                                  ol_program* made) const {
  return has_contexts() ? as<olCreateProgram_24>(olCreateProgram_)(context, device, data, size, made)
                        : as<olCreateProgram_22>(olCreateProgram_)(device, data, size, made);
}

ol_result Library::allocate(ol_context context, ol_device device, std::uint32_t type, std::size_t size,
                            void** made) const {
  if (!has_contexts())
    return as<olMemAlloc_22>(olMemAlloc_)(device, type, size, made);
  return type == OL_ALLOC_HOST ? as<olMemAllocHost_24>(olMemAllocHost_)(context, device, size, made)
                               : as<olMemAlloc_24>(olMemAlloc_)(context, device, type, size, made);
}

ol_result Library::release(ol_context context, void* memory) const {
  return has_contexts() ? as<olMemFree_24>(olMemFree_)(context, memory) : as<olMemFree_22>(olMemFree_)(memory);
}

ol_result Library::unregister(ol_device device, void* memory) const {
  return release_ == 22 ? as<olMemUnregister_22>(olMemUnregister_)(device, memory)
                        : as<olMemUnregister_23>(olMemUnregister_)(device, memory, OL_UNLOCK_MEMORY);
}

ol_result Library::create_queue(ol_context context, ol_device device, ol_queue* made) const {
  return has_contexts() ? as<olCreateQueue_24>(olCreateQueue_)(context, device, made)
                        : as<olCreateQueue_22>(olCreateQueue_)(device, made);
}

ol_result Library::create_event(ol_queue queue, ol_event* made) const {
  return release_ == 22 ? as<olCreateEvent_22>(olCreateEvent_)(queue, made)
                        : as<olCreateEvent_23>(olCreateEvent_)(queue, 0, made);
}

ol_result Library::launch(ol_queue queue, ol_device device, ol_symbol kernel, const ol_launch_size& size,
                          bool cooperates, void** values, std::size_t count) const {
  if (release_ == 22)
    return as<olLaunchKernel_22>(olLaunchKernel_)(queue, device, kernel, values, count * sizeof *values, &size);
  std::vector<void*> places(count);
  const std::vector<std::size_t> sizes(count, sizeof *values);
  for (std::size_t i = 0; i < count; ++i)
    places[i] = &values[i];
  const ol_launch_property properties[] = {{cooperates ? OL_LAUNCH_COOPERATIVE : OL_LAUNCH_END, &cooperates},
                                           {OL_LAUNCH_END, nullptr}};
  return as<olLaunchKernel_23>(olLaunchKernel_)(queue, device, kernel, &size, properties, count,
                                                count ? places.data() : nullptr, count ? sizes.data() : nullptr);
}

} // namespace omptool::liboffload
