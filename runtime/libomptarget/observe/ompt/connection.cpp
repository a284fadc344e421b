// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/ompt/connection.h"

#include "observe/ompt/own_tool.h"
#include "observe/ompt/tool.h"
#include "process/libomp.h"

#include <sys/auxv.h>

namespace omptool::ompt {
namespace {

template <typename Function> void look_up(Lookup lookup, const char* name, Function*& place) {
  place = reinterpret_cast<Function*>(lookup(name));
}

// Returns whether libomp has reported the event as unsupported to the tool, as every release does.
bool is_denied_by_libomp(Event event) {
  return event == kMap || event == kMapEmi || event == kDeviceUnload;
}

// Initialises the connection: libomp's lookup returns the tool's callbacks by the names of their events.
int initialize(Lookup lookup, int, Data*) {
  for (const EventName& one : kEvents)
    if (!is_denied_by_libomp(one.event))
      callbacks.set(one.event, lookup(one.name));
  TaskData tasks;
  look_up(lookup, "ompt_get_task_data", tasks.task);
  look_up(lookup, "ompt_get_target_task_data", tasks.target_task);
  attach(tasks);
  return 1;
}

void finalize(Data*) {
  detach();
}

} // namespace

void connect() {
  static StartResult self{initialize, finalize, {0}}; // libomp meets this library as it meets a tool
  if (::getauxval(AT_SECURE) != 0)                    // it would run whatever code the environment names (decision 37)
    return;
  if (void* const libomp = find_in_libomp("ompt_libomp_connect"))
    reinterpret_cast<void (*)(StartResult*)>(libomp)(&self);
  else
    start_own_tool();
}

} // namespace omptool::ompt
