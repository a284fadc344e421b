// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The call by which programs and libraries of GCC's register their regions with libgomp. Where this library is loaded
// first, as under `omptool run`, it notes the file for `omptool doctor --run`, and forwards the call to libgomp.
#include "abi/exports.h"
#include "observe/opening.h"
#include "process/environment.h"
#include "process/loaded_object.h"

#include <dlfcn.h>
#include <string>

namespace omptool {
namespace {

// Finds a function in libgomp, which is loaded, because the registering file needs it. It may be outside of the global
// scope.
template <typename Function> Function* find_in_libgomp(const char* name) {
  void* const library = ::dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = library ? ::dlsym(library, name) : nullptr;
  if (library)
    ::dlclose(library); // the registering file keeps it
  return reinterpret_cast<Function*>(found);
}

void note(const LoadedObject& home) {
  observe::start_early_observers();
  if (observe::heard()) [[unlikely]]
    observe::report(observe::GccRegistered{home.path});
}

// Refuses libraries that a program opens later, and programs that it starts. `omptool run --mandatory` has refused the
// files that it could see before.
void refuse_without_device(const LoadedObject& home) {
  const auto count = find_in_libgomp<int()>("omp_get_num_devices");
  if (count && count() == 0)
    die("GCC's libgomp runs the regions of %s on the host: it has no device, and --mandatory is given",
        home.name().c_str());
}

} // namespace

extern "C" {

// Registers regions compiled by GCC. `table` has the host's functions and variables. `target` is libgomp's number of a
// kind of device.
OMPTOOL_EXPORT void omptool_gomp_offload_register(unsigned version, const void* table, int target, const void* data) {
  guarded("GOMP_offload_register_ver", [&] {
    const LoadedObject home = loaded_object_of(table);
    note(home);
    const auto registers = find_in_libgomp<decltype(omptool_gomp_offload_register)>("GOMP_offload_register_ver");
    if (!registers)
      return say("the regions of %s run on the host: they need GCC's libgomp.so.1, which is not loaded",
                 home.name().c_str());
    registers(version, table, target, data);
    if (environment().must_offload)
      refuse_without_device(home);
  });
}
OMPTOOL_EXPORT_AS(omptool_gomp_offload_register, "GOMP_offload_register_ver@GOMP_4.5");

} // extern "C"
} // namespace omptool
