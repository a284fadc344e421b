// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/ompt/own_tool.h"

#include "observe/events/sink.h"
#include "observe/ompt/named.h"
#include "observe/ompt/tool.h"
#include "process/environment.h"
#include "process/libomp.h"
#include "process/message.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace omptool::ompt {
namespace {

using StartTool = StartResult* (*)(unsigned version, const char* runtime);

constexpr unsigned kVersion = 202111; // OpenMP 5.2
constexpr const char* kRuntime = "omptool";

constinit std::atomic<StartResult*> started{nullptr};
constinit pid_t starter = 0; // written before `started`: a child of fork() has no devices, and ends no tool

// ---- what the tool may ask ----

int set_callback(int event, AnyFunction function) {
  if (event < kFirstEvent || event > kLastEvent)
    return kSetError;
  for (const EventName& one : kEvents)
    if (one.event == event) {
      callbacks.set(event, function);
      return kSetAlways;
    }
  return kSetNever; // an event of threads, of which only libomp knows
}

int get_callback(int event, AnyFunction* function) {
  AnyFunction const known = event < kFirstEvent || event > kLastEvent ? nullptr : callbacks.get(event);
  if (known && function)
    *function = known;
  return known ? 1 : 0;
}

Id unique_id() {
  static std::atomic<Id> last{0};
  return ++last;
}
Data* thread_data() {
  thread_local Data own{0};
  return &own;
}
Data* task_data() {
  thread_local Data own{0};
  return &own;
}
int number_of_devices() {
  return observe::host_number.load(std::memory_order_relaxed);
}
int number_of_processors() {
  return static_cast<int>(std::thread::hardware_concurrency());
}
int processor() {
  return ::sched_getcpu();
}
int number_of_places() {
  return 0;
}
int state(std::uint64_t* wait_id) {
  constexpr int kWorkSerial = 0;
  if (wait_id)
    *wait_id = 0;
  return kWorkSerial;
}
int no_parallel_info(int, Data**, int*) {
  return 0;
}

// Task information: only the initial task exists.
int task_info(int level, int* flags, Data** task, void** frame, Data** parallel, int* thread) {
  constexpr int kInitialTask = 1, kKnown = 2;
  if (level != 0)
    return 0;
  if (flags)
    *flags = kInitialTask;
  if (task)
    *task = task_data();
  if (frame)
    *frame = nullptr;
  if (parallel)
    *parallel = nullptr;
  if (thread)
    *thread = 0;
  return kKnown;
}

void finish() {
  StartResult* const tool = started.exchange(nullptr);
  if (!tool || starter != ::getpid())
    return;
  detach();
  if (tool->finalize)
    tool->finalize(&tool->data);
}

AnyFunction look_up(const char* name) {
  static const Named functions[] = {
      named("ompt_set_callback", set_callback),
      named("ompt_get_callback", get_callback),
      named("ompt_get_unique_id", unique_id),
      named("ompt_get_thread_data", thread_data),
      named("ompt_get_num_devices", number_of_devices),
      named("ompt_get_num_procs", number_of_processors),
      named("ompt_get_proc_id", processor),
      named("ompt_get_num_places", number_of_places),
      named("ompt_get_state", state),
      named("ompt_get_parallel_info", no_parallel_info),
      named("ompt_get_task_info", task_info),
      named("ompt_finalize_tool", finish),
  };
  return find(functions, name);
}

// ---- where the tool is ----

StartTool start_in(void* handle) {
  return reinterpret_cast<StartTool>(::dlsym(handle, "ompt_start_tool"));
}

StartResult* offered_by(StartTool start) {
  return start ? start(kVersion, kRuntime) : nullptr;
}

// The first of OMP_TOOL_LIBRARIES, separated by colons, that offers one. The others are closed again.
StartResult* offered_by_libraries() {
  const char* const libraries = ::secure_getenv("OMP_TOOL_LIBRARIES");
  std::string_view rest = libraries ? libraries : "";
  while (!rest.empty()) {
    const std::string path(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(path.size() + 1, rest.size()));
    void* const handle = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY);
    if (!path.empty() && !handle)
      say("the runtime cannot open the tool %s of OMP_TOOL_LIBRARIES: %s", path.c_str(), ::dlerror());
    if (!handle)
      continue;
    if (StartResult* const offered = offered_by(start_in(handle)))
      return offered;
    ::dlclose(handle);
  }
  return nullptr;
}

// Returns whether libomp has started the tool. Up to LLVM 14, libomp starts a tool but connects no library. The tool
// must not be started twice.
bool is_started_by_libomp() {
  Dl_info libomp{}, tool{};
  void* const function = find_in_libomp("__kmpc_global_thread_num");
  if (!function || !::dladdr(function, &libomp))
    return false;
  void* const handle = ::dlopen(libomp.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle)
    return true; // it is part of the program
  const auto own = reinterpret_cast<void*>(start_in(handle));
  ::dlclose(handle);
  return own && ::dladdr(own, &tool) && tool.dli_fbase == libomp.dli_fbase;
}

void warn_of_deaf_tool() {
  if (::secure_getenv("OMP_TOOL_LIBRARIES") && !environment().quiet)
    say("the tool of OMP_TOOL_LIBRARIES hears nothing of devices: the libomp of this process connects no runtime of "
        "devices; LLVM 15's and later do");
}

} // namespace

void start_own_tool() {
  static std::atomic<bool> has_looked{false};
  const char* const wanted = ::secure_getenv("OMP_TOOL");
  if (has_looked.exchange(true) || (wanted && !std::strcmp(wanted, "disabled")))
    return;
  if (is_started_by_libomp())
    return warn_of_deaf_tool();
  StartResult* tool = offered_by(start_in(RTLD_DEFAULT));
  if (!tool)
    tool = offered_by_libraries();
  if (!tool || !tool->initialize)
    return;
  starter = ::getpid();
  started.store(tool);
  attach({task_data, nullptr});
  if (tool->initialize(look_up, number_of_devices(), &tool->data) == 0) {
    started.store(nullptr);
    detach();
  }
}

// Behind the program's own end, and so behind that of its devices.
__attribute__((destructor)) static void finish_at_exit() {
  finish();
}

} // namespace omptool::ompt
