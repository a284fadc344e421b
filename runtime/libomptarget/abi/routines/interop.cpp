// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interoperability objects (OpenMP 5.1). No device has any: each is omp_interop_none, and each query of one returns the
// code for that. (LLVM's runtime crashes on such queries.)
//
// libomp has these routines, too, and forwards them to this library, but only if this library comes later in the search
// order. A program with this library preloaded finds these routines directly, because they also carry libomp's symbol
// version.
#include "abi/routines/routine.h"
#include "process/libomp.h"

#include <array>
#include <cstdint>

namespace omptool {
namespace {

constexpr int kFirstProperty = -9;                         // they count down from -1
constexpr int kNoValue = 1, kEmpty = -1, kOutOfRange = -2; // return codes; 0 is success

template <typename Value> Value no_value(int property, int* code) {
  if (code)
    *code = property < kFirstProperty || property >= 0 ? kOutOfRange : kEmpty;
  return Value{};
}

// Descriptions of every return code of OpenMP 5.1, from the highest down.
constexpr std::array<const char*, 8> kDescriptions{
    "the property has no meaningful value",
    "the value was obtained",
    "the interoperability object is omp_interop_none",
    "the property does not exist",
    "the property is an integer, not what was asked for",
    "the property is a pointer, not what was asked for",
    "the property is a string, not what was asked for",
    "the value could not be obtained",
};

const char* meaning_of(int code) {
  const auto index = static_cast<std::size_t>(std::int64_t{kNoValue} - code); // of higher codes: very large
  return index < kDescriptions.size() ? kDescriptions[index] : nullptr;
}

// Clang 22 hands over dependences in this record.
struct Dependences {
  std::int32_t count, other_count;
  void *infos, *other_infos;
};

// Waits for the dependences of a construct; `interop`, if any, becomes omp_interop_none.
void wait_for(const char* function, std::int32_t count, void* dependences, void** interop) {
  guarded(function, [&] { wait_for_infos(count, dependences); });
  if (interop)
    *interop = nullptr;
}
int wait_for(const char* function, const Dependences* dependences) {
  if (dependences)
    wait_for(function, dependences->count, dependences->infos, nullptr);
  return 0;
}

} // namespace

extern "C" {

// ---- what clang emits ---- (without the last arguments, which nothing needs)

OMPTOOL_EXPORT void __tgt_interop_init(void*, std::int32_t, void** interop, std::int32_t, std::int32_t,
                                       std::int32_t count, void* dependences) {
  wait_for(__func__, count, dependences, interop);
}
OMPTOOL_EXPORT void __tgt_interop_use(void*, std::int32_t, void**, std::int32_t, std::int32_t count,
                                      void* dependences) {
  wait_for(__func__, count, dependences, nullptr);
}
OMPTOOL_EXPORT void __tgt_interop_destroy(void*, std::int32_t, void** interop, std::int32_t, std::int32_t count,
                                          void* dependences) {
  wait_for(__func__, count, dependences, interop);
}
OMPTOOL_EXPORT void* __tgt_interop_get(void*, std::int32_t, std::int64_t, std::int32_t, void*, void*,
                                       const Dependences* dependences) {
  wait_for(__func__, dependences);
  return nullptr;
}
OMPTOOL_EXPORT int __tgt_interop_use60(void*, void* interop, void*, const Dependences* dependences) {
  return interop ? kFailed : wait_for(__func__, dependences);
}
OMPTOOL_EXPORT_ALIAS("__tgt_interop_use60")
int __tgt_interop_release(void*, void* interop, void*, const Dependences* dependences);
OMPTOOL_EXPORT int ompx_interop_add_completion_callback() {
  return kFailed;
}

// ---- what programs ask ----

// The routine under this library's version and under libomp's: two functions, because the linker keeps
// one name of two that mean the same place.
#define OMPTOOL_INTEROP_ROUTINE(result, function, libomps, parameters, ...)                                            \
  OMPTOOL_EXPORT result function parameters __VA_ARGS__ OMPTOOL_EXPORT result libomps parameters __VA_ARGS__           \
  OMPTOOL_EXPORT_AS(libomps, #function "@VERSION")

// Beyond those of OpenMP.
OMPTOOL_INTEROP_ROUTINE(int, omp_get_num_interop_properties, libomp_num_properties, (const void*), { return 0; });
OMPTOOL_INTEROP_ROUTINE(std::intptr_t, omp_get_interop_int, libomp_int, (const void*, int property, int* code),
                        { return no_value<std::intptr_t>(property, code); });
OMPTOOL_INTEROP_ROUTINE(void*, omp_get_interop_ptr, libomp_ptr, (const void*, int property, int* code),
                        { return no_value<void*>(property, code); });
OMPTOOL_INTEROP_ROUTINE(const char*, omp_get_interop_str, libomp_str, (const void*, int property, int* code),
                        { return no_value<const char*>(property, code); });
OMPTOOL_INTEROP_ROUTINE(const char*, omp_get_interop_name, libomp_name, (const void*, int), { return nullptr; });
OMPTOOL_INTEROP_ROUTINE(const char*, omp_get_interop_type_desc, libomp_type, (const void*, int), { return nullptr; });
OMPTOOL_INTEROP_ROUTINE(const char*, omp_get_interop_rc_desc, libomp_code, (const void*, int code),
                        { return meaning_of(code); });
#undef OMPTOOL_INTEROP_ROUTINE

// The name under which libomp looks for it.
OMPTOOL_EXPORT_ALIAS("omp_get_interop_rc_desc") const char* omp_get_interop_rec_desc(const void*, int code);
}
} // namespace omptool
