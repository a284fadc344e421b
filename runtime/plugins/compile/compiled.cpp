// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiled.h"

#include "bitcode.h"
#include "cache.h"
#include "common/calls.h"
#include "device_library.h"
#include "failures.h"
#include "helper.h"
#include "omptarget_rtl.h"
#include "sha256.h"

#include <chrono>
#include <cstdio>
#include <sys/auxv.h>
#include <unistd.h>

namespace omptool::compile {
namespace {

// The helper is a script that anybody's environment may change: not in a program with others' rights.
constexpr char kPrivileged[] = "a program that runs with raised privileges compiles no images";
constexpr char kNoHelper[] =
    "omptool, which would compile its bitcode, is neither installed beside the runtime nor on PATH";

// Holds when this thread's last image was compiled, in nanoseconds of the monotonic clock; 0: it was not.
struct Compilation {
  std::uint64_t began = 0, ended = 0;
};
thread_local constinit Compilation last_compilation{};

std::uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::string key_of(Bytes image, const Target& target, const std::string& helper) {
  Sha256 hash;
  for (const std::string& part : {std::string(OMPTOOL_VERSION), target.triple, target.cpu, target.identity,
                                  identity_of_libraries(target.triple, helper)}) {
    hash.add(part);
    hash.add(std::string_view("\0", 1));
  }
  hash.add(image);
  return in_hexadecimal(hash.finish());
}

// Returns the last line that the helper wrote, without the name of the helper's own file.
std::string said_in(const std::vector<std::byte>& log, const std::string& image) {
  std::string text(reinterpret_cast<const char*>(log.data()), log.size());
  text.erase(text.find_last_not_of("\n ") + 1);
  text.erase(0, text.rfind('\n') + 1);
  for (const std::string& known : {std::string("Error: "), image + ": "})
    if (text.starts_with(known))
      text.erase(0, known.size());
  return text;
}

// Holds why there is no image, or "", and whether that is the module's fault.
struct Outcome {
  std::string fault;
  bool is_of_module = false;
};

Outcome compile(Bytes image, const Target& target, const std::string& helper, const Cache& cache,
                std::vector<std::byte>& made) {
  const Cache::Workplace place(cache);
  std::string fault = place.fault();
  if (fault.empty())
    fault = place.write("image.bc", image);
  if (!fault.empty())
    return {fault};
  const Job job{place.path("image.bc"), place.path("made"), place.path("log"), target.triple, target.cpu};
  const End end = run_helper(helper, job);
  if (std::optional<std::vector<std::byte>> found = place.read("made"); found && !found->empty()) {
    made = std::move(*found);
    return {};
  }
  const std::string said = said_in(place.read("log").value_or(std::vector<std::byte>{}), job.image);
  if (!said.empty())
    return {said, end.exit_code == kRefusal};
  return {end.fault.empty() ? "omptool lower ended without an image and without a reason" : end.fault};
}

// Holds the cache's folder and the helper, or why nothing can be compiled here.
struct Means {
  std::string fault;
  std::string folder; // of the cache
  std::string helper;
};

Means find_means() {
  Means means;
  if (::getauxval(AT_SECURE)) {
    means.fault = kPrivileged;
    return means;
  }
  means.folder = cache_folder(means.fault);
  if (means.folder.empty())
    return means;
  means.fault = fault_of_folder(means.folder);
  means.helper = find_helper();
  if (means.fault.empty() && means.helper.empty())
    means.fault = kNoHelper;
  return means;
}

// Returns why there is no image, or "".
std::string find_or_compile(Bytes image, const Target& target, const Means& means, std::vector<std::byte>& made) {
  const Cache cache(means.folder);
  if (!cache.fault().empty())
    return cache.fault();
  const std::string key = key_of(image, target, means.helper);
  const Failures failures(cache, key, means.helper);
  std::string fault;
  const auto is_known = [&] {
    std::optional<std::vector<std::byte>> found = cache.find(key);
    if (found)
      made = std::move(*found);
    else
      fault = failures.find();
    return found || !fault.empty();
  };
  if (is_known())
    return fault;
  const Cache::Lock lock(cache, key);
  if (is_known()) // by another, meanwhile
    return fault;
  const std::uint64_t began = now();
  const Outcome outcome = compile(image, target, means.helper, cache, made);
  last_compilation = {began, now()};
  std::string lost;
  if (outcome.fault.empty())
    lost = cache.store(key, made);
  else if (outcome.is_of_module)
    lost = failures.store(outcome.fault);
  if (!lost.empty())
    ::dprintf(STDERR_FILENO, "omptarget: the cache does not keep the result of omptool lower: %s\n", lost.c_str());
  return outcome.fault;
}

} // namespace

std::string fault_of(Bytes image, std::string_view arch, std::string_view other) {
  if (!is_bitcode(image))
    return std::string(other);
  const std::string triple = triple_of(image);
  if (triple.empty())
    return "it is bitcode that names no target";
  if (!triple.starts_with(arch))
    return "it is bitcode for " + triple;
  return find_means().fault;
}

Compiled compiled(Bytes image, const Target& target) {
  last_compilation = {};
  if (!is_bitcode(image))
    return {image, {}, {}};
  Compiled result;
  const Means means = find_means();
  result.fault = means.fault.empty() ? find_or_compile(image, target, means, result.made) : means.fault;
  if (!result.fault.empty())
    result.fault = "its bitcode is not compiled: " + result.fault;
  result.bytes = result.made;
  return result;
}

} // namespace omptool::compile

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_last_compilation(uint64_t* began, uint64_t* ended) {
  *began = omptool::compile::last_compilation.began;
  *ended = omptool::compile::last_compilation.ended;
  return *began != 0;
}
