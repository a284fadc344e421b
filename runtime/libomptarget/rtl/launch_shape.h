// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In what shape a kernel is launched: what the program's call asks for, as plain values.
#pragma once

#include "rtl/passing.h"
#include "rtl/rtl.h"

#include <algorithm>
#include <climits>
#include <cstdint>

namespace omptool {

struct LaunchShape {
  // Origin of the call, on which the rules of its kernels depend.
  enum class Origin : std::uint8_t {
    kRegion,   // the documents' __tgt_target: one team of one thread
    kTeams,    // the documents' __tgt_target_teams: the device starts each team's threads
    kCompiler, // an OpenMP compiler's call: as its code for the device expects it
  };
  Origin origin = Origin::kRegion;
  EnvironmentPlace environment = EnvironmentPlace::kNone;
  tgt_launch_shape asked{sizeof(tgt_launch_shape), 0, 0, 0, {1, 1, 1}, {1, 1, 1}};
};
// Shape of a call in the plugin's form, made only for plugins that use it: most need none.
struct AskedShape {
  AskedShape(LaunchShape::Origin whose, EnvironmentPlace place, const void* what, LaunchShape (*maker)(const void*))
      : origin(whose), environment(place), call(what), make(maker) {}
  // As long as the shape lives.
  AskedShape(const LaunchShape& shape)
      : AskedShape(shape.origin, shape.environment, &shape,
                   [](const void* whole) { return *static_cast<const LaunchShape*>(whole); }) {}
  LaunchShape whole() const { return make(call); }
  // Returns whether the core passes the shape to a plugin. `takes_compilers`: the plugin wants the shapes of all
  // kernels by OpenMP compilers.
  bool goes_to_plugin(bool takes_compilers, Launching kernel) const {
    return origin == LaunchShape::Origin::kTeams ||
           (origin == LaunchShape::Origin::kCompiler && (takes_compilers || kernel.takes_shape)) ||
           kernel.how == Passing::kArrayThere;
  }

  LaunchShape::Origin origin;
  EnvironmentPlace environment;
  const void* call;
  LaunchShape (*make)(const void* call);
};

// Kernel call: a kernel of a device, its arguments in the kernel's form, and the shape of the launch.
struct KernelCall {
  void* function;
  void** arguments;
  std::int32_t count;
  const AskedShape& shape;
  Launching how;
};

// Shape of teams. Negative numbers, which no clause can have, leave the choice to the device, as 0 does.
constexpr LaunchShape shape_of_teams(std::int32_t num_teams, std::int32_t thread_limit) {
  LaunchShape shape{LaunchShape::Origin::kTeams};
  shape.asked.teams[0] = static_cast<std::uint32_t>(std::max(num_teams, 0));
  shape.asked.threads[0] = static_cast<std::uint32_t>(std::max(thread_limit, 0));
  return shape;
}

// Returns the shape with flags for a plugin: where the environment is, how the kernel uses its arguments, and how
// messages print the shape.
constexpr LaunchShape with_flags(LaunchShape shape, Launching kernel) {
  const Passing how = kernel.how;
  if (kernel.names_dimensions)
    shape.asked.flags |= OMPTARGET_SHAPE_NAMES_DIMENSIONS;
  if (how == Passing::kFirst)
    shape.asked.flags |= OMPTARGET_SHAPE_ENVIRONMENT_FIRST;
  if (how == Passing::kLast)
    shape.asked.flags |= OMPTARGET_SHAPE_ENVIRONMENT_LAST;
  if (how == Passing::kArrayThere)
    shape.asked.flags |= OMPTARGET_SHAPE_ARGUMENT_ARRAY;
  return shape;
}

// Returns whether the plugin gets the shape of kernels by OpenMP compilers.
inline bool takes_compilers_shapes(const RtlFunctions& rtl, std::int32_t rtl_id) {
  return (rtl.run_shaped || rtl.async_run_shaped) && !(rtl.kernels_make_teams && rtl.kernels_make_teams(rtl_id) != 0);
}

// Runs a kernel by the function with the richest shape: `shaped`, which may be null, or `teams`. Asynchronous ones get
// `more`. Returns the result of the function.
template <typename Shaped, typename Teams, typename... More>
std::int32_t run_in_shape(Shaped shaped, Teams teams, std::int32_t rtl_id, void* function, void** arguments,
                          std::int32_t count, const tgt_launch_shape& asked, More... more) {
  if (shaped)
    return shaped(rtl_id, function, arguments, count, &asked, more...);
  const auto most = [](std::uint32_t number) {
    return static_cast<std::int32_t>(std::min(number, std::uint32_t{INT_MAX}));
  };
  return teams(rtl_id, function, arguments, count, most(asked.teams[0]), most(asked.threads[0]), more...);
}

} // namespace omptool
