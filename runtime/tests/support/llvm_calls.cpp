// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm_calls.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace llvm_abi {
namespace {

struct Arguments { // from version 2 on
  std::uint32_t version, count;
  void **base, **begin;
  std::int64_t *size, *type;
  void **names, **mappers;
  std::uint64_t trip_count = 0, flags = 0;
  std::uint32_t teams[3]{}, threads[3]{}, dynamic_memory = 0;
};
static_assert(sizeof(Arguments) == 104);

const Element kEnvironment{nullptr, nullptr, 0, kLiteral | kParameter};

struct Arrays {
  explicit Arrays(const std::vector<Element>& elements) {
    for (const Element& element : elements)
      add(element);
  }
  void add(const Element& element) {
    base.push_back(element.base);
    begin.push_back(element.begin);
    size.push_back(element.size);
    type.push_back(element.type);
    mapper.push_back(element.mapper);
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(base.size()); }
  std::vector<void*> base, begin;
  std::vector<std::int64_t> size, type;
  std::vector<void*> mapper;
};

// UBSan compares declarations, and these are LLVM's.
__attribute__((no_sanitize("undefined"))) void call(const char* name, void* descriptor) {
  reinterpret_cast<void (*)(void*)>(versioned(name))(descriptor);
}

} // namespace

void* versioned(const char* name) {
  void* const found = ::dlvsym(RTLD_DEFAULT, name, "VERS1.0");
  if (!found) {
    std::fprintf(stderr, "no %s@VERS1.0\n", name);
    std::abort();
  }
  return found;
}

Element literal(std::uintptr_t value) {
  return {reinterpret_cast<void*>(value), reinterpret_cast<void*>(value), 8, kLiteral | kParameter};
}

__attribute__((no_sanitize("undefined"))) std::int32_t launch(void* region, Arguments arguments, const char* name) {
  return reinterpret_cast<std::int32_t (*)(void*, std::int64_t, std::int32_t, std::int32_t, void*, Arguments*)>(
      versioned(name))(nullptr, -1, -1, 0, region, &arguments);
}

Arguments arguments_of(Arrays& all, std::uint32_t version) {
  return {version,         all.count(),     all.base.data(), all.begin.data(),
          all.size.data(), all.type.data(), nullptr,         all.mapper.data()};
}

std::int32_t launch(void* region, const std::vector<Element>& elements, std::uint32_t version, const char* name) {
  Arrays all(elements);
  if (version == kLastEnvironment)
    all.add(kEnvironment);
  return launch(region, arguments_of(all, version), name);
}

std::int32_t launch_as_it_is(void* region, const std::vector<Element>& elements, std::uint32_t version) {
  Arrays all(elements);
  return launch(region, arguments_of(all, version), "__tgt_target_kernel");
}

std::int32_t launch_nowait(void* region, const std::vector<Element>& elements) {
  Arrays all(elements);
  Arguments arguments = arguments_of(all, 2);
  arguments.flags = 1;
  return launch(region, arguments, "__tgt_target_kernel");
}

__attribute__((no_sanitize("undefined"))) std::int32_t launch(void* region, std::uint32_t version,
                                                              const Numbers& numbers) {
  Arrays all({});
  if (version == kLastEnvironment)
    all.add(kEnvironment);
  Arguments arguments = arguments_of(all, version);
  arguments.trip_count = numbers.trip_count;
  if (version >= 2) {
    arguments.flags = numbers.flags;
    std::copy_n(numbers.teams, 3, arguments.teams);
    std::copy_n(numbers.threads, 3, arguments.threads);
    arguments.dynamic_memory = numbers.dynamic_memory;
  }
  return reinterpret_cast<std::int32_t (*)(void*, std::int64_t, std::int32_t, std::int32_t, void*, Arguments*)>(
      versioned("__tgt_target_kernel"))(nullptr, -1, numbers.num_teams, numbers.thread_limit, region, &arguments);
}

__attribute__((no_sanitize("undefined"))) std::vector<void*> data(const char* name,
                                                                  const std::vector<Element>& elements) {
  Arrays all(elements);
  reinterpret_cast<void (*)(void*, std::int64_t, std::uint32_t, void**, void**, std::int64_t*, std::int64_t*, void**,
                            void**)>(versioned(name))(nullptr, -1, all.count(), all.base.data(), all.begin.data(),
                                                      all.size.data(), all.type.data(), nullptr, all.mapper.data());
  return all.base;
}

void register_library(void* descriptor) {
  call("__tgt_register_lib", descriptor);
}
void unregister_library(void* descriptor) {
  call("__tgt_unregister_lib", descriptor);
}

std::vector<char> wrapped(const std::vector<char>& image) {
  constexpr std::size_t kHeaders = 72;
  const std::uint64_t size = image.size(), total = kHeaders + size;
  const std::uint64_t fields[] = {total, 32, 40, 1 | 1 << 16, kHeaders, 0, kHeaders, size};
  std::vector<char> blob(total);
  std::memcpy(blob.data(), "\x10\xff\x10\xad\1\0\0\0", 8);
  std::memcpy(blob.data() + 8, fields, sizeof fields);
  std::copy(image.begin(), image.end(), blob.begin() + kHeaders);
  return blob;
}

} // namespace llvm_abi
