// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/loaded_object.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <link.h>
#include <span>
#include <unistd.h>

namespace omptool {
namespace {

// Constant pages: those not mapped for writing, or no more after relocation.
std::vector<HostRange> constants_of(const dl_phdr_info& info) {
  const std::uintptr_t page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::vector<HostRange> all;
  for (const ElfW(Phdr) & segment : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    const bool only_read = segment.p_type == PT_LOAD && !(segment.p_flags & PF_W);
    if (!only_read && segment.p_type != PT_GNU_RELRO)
      continue;
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_memsz;
    const HostRange pages{begin / page * page, (only_read ? end + page - 1 : end) / page * page};
    if (!all.empty() && all.back().end == pages.begin)
      all.back().end = pages.end;
    else if (pages.size() > 0)
      all.push_back(pages);
  }
  return all;
}

int visit_object(dl_phdr_info* info, std::size_t size, void* context) {
  LoadedObject& home = *static_cast<LoadedObject*>(context);
  HostRange object{UINTPTR_MAX, 0};
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum))
    if (segment.p_type == PT_LOAD) {
      object.begin = std::min(object.begin, info->dlpi_addr + segment.p_vaddr);
      object.end = std::max(object.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
  if (!object.contains(HostRange::of(home.descriptor, 1)))
    return 0;
  home.object = object;
  home.base = info->dlpi_addr;
  home.permanent = !info->dlpi_name || !*info->dlpi_name;
  home.constants = constants_of(*info);
  home.path = home.permanent ? "/proc/self/exe" : info->dlpi_name;
  if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
    home.unloads = info->dlpi_subs;
  return 1;
}

} // namespace

std::string LoadedObject::name() const {
  if (permanent || !path.empty())
    return permanent ? "the program" : path;
  char text[64];
  std::snprintf(text, sizeof text, "the library at %p", descriptor);
  return text;
}

LoadedObject loaded_object_of(const void* descriptor) {
  LoadedObject home{descriptor, {}, false};
  ::dl_iterate_phdr(visit_object, &home);
  return home;
}

} // namespace omptool
