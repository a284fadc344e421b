// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In what shape a kernel is launched: what the program's call asks for, as plain values.
#pragma once

#include "rtl/passing.h"
#include "rtl/rtl.h"

#include <algorithm>
#include <cstdint>

namespace omptool {

struct LaunchShape {
  // The maker of the call, which says what a kernel relies on.
  enum class Origin : std::uint8_t {
    kRegion,   // the documents' __tgt_target: one team of one thread
    kTeams,    // the documents' __tgt_target_teams: the device starts each team's threads
    kCompiler, // an OpenMP compiler's call: as its code for the device expects it
  };
  Origin origin = Origin::kRegion;
  EnvironmentPlace environment = EnvironmentPlace::kNone;
  tgt_launch_shape asked{sizeof(tgt_launch_shape), 0, 0, 0, {1, 1, 1}, {1, 1, 1}};
};
// The shape that a call asks for, made only where the core tells the plugin: most plugins need none.
struct AskedShape {
  AskedShape(LaunchShape::Origin whose, EnvironmentPlace place, const void* what, LaunchShape (*maker)(const void*))
      : origin(whose), environment(place), call(what), make(maker) {}
  // As long as the shape lives.
  AskedShape(const LaunchShape& shape)
      : AskedShape(shape.origin, shape.environment, &shape,
                   [](const void* whole) { return *static_cast<const LaunchShape*>(whole); }) {}
  LaunchShape whole() const { return make(call); }

  LaunchShape::Origin origin;
  EnvironmentPlace environment;
  const void* call;
  LaunchShape (*make)(const void* call);
};

// Negative numbers, which no clause can say, leave the choice to the device, as 0 does.
constexpr LaunchShape shape_of_teams(std::int32_t num_teams, std::int32_t thread_limit) {
  LaunchShape shape{LaunchShape::Origin::kTeams};
  shape.asked.teams[0] = static_cast<std::uint32_t>(std::max(num_teams, 0));
  shape.asked.threads[0] = static_cast<std::uint32_t>(std::max(thread_limit, 0));
  return shape;
}

// Returns the shape with the flags that tell a plugin where the environment is.
constexpr LaunchShape with_environment(LaunchShape shape, Passing how) {
  if (how == Passing::kFirst)
    shape.asked.flags |= OMPTARGET_SHAPE_ENVIRONMENT_FIRST;
  if (how == Passing::kLast)
    shape.asked.flags |= OMPTARGET_SHAPE_ENVIRONMENT_LAST;
  return shape;
}

// Returns whether the core tells the plugin the shape of kernels that an OpenMP compiler made.
bool takes_compilers_shapes(const RtlFunctions& rtl, std::int32_t rtl_id);

// Runs a kernel by the function that can say most of its shape. Returns what the function returns.
std::int32_t run_in_shape(const RtlFunctions& rtl, std::int32_t rtl_id, void* function, void** arguments,
                          std::int32_t count, const LaunchShape& shape);
// The same by the asynchronous functions, which the plugin has.
std::int32_t queue_in_shape(const RtlFunctions& rtl, std::int32_t rtl_id, void* function, void** arguments,
                            std::int32_t count, const LaunchShape& shape, std::int32_t num_dep_events,
                            tgt_event_t* dep_events, tgt_event_t* completion_event);

} // namespace omptool
