// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/launch_shape.h"

#include <climits>

namespace omptool {

namespace {

using Origin = LaunchShape::Origin;

std::int32_t counted(std::uint32_t number) {
  return static_cast<std::int32_t>(std::min(number, std::uint32_t{INT_MAX}));
}

// One call of the kernel is what the shape asks for, or all that the plugin can be told.
bool is_one_call(const LaunchShape& shape, const RtlFunctions& rtl, std::int32_t rtl_id, bool has_shaped) {
  return shape.origin == Origin::kRegion ||
         (shape.origin == Origin::kCompiler && !(has_shaped && takes_compilers_shapes(rtl, rtl_id)));
}

} // namespace

bool takes_compilers_shapes(const RtlFunctions& rtl, std::int32_t rtl_id) {
  return (rtl.run_shaped || rtl.async_run_shaped) && !(rtl.kernels_make_teams && rtl.kernels_make_teams(rtl_id) != 0);
}

std::int32_t run_in_shape(const RtlFunctions& rtl, std::int32_t rtl_id, void* function, void** arguments,
                          std::int32_t count, const LaunchShape& shape) {
  const tgt_launch_shape& asked = shape.asked;
  if (is_one_call(shape, rtl, rtl_id, rtl.run_shaped))
    return rtl.run_target_region(rtl_id, function, arguments, count);
  if (rtl.run_shaped)
    return rtl.run_shaped(rtl_id, function, arguments, count, &asked);
  return rtl.run_target_team_region(rtl_id, function, arguments, count, counted(asked.teams[0]),
                                    counted(asked.threads[0]));
}

std::int32_t queue_in_shape(const RtlFunctions& rtl, std::int32_t rtl_id, void* function, void** arguments,
                            std::int32_t count, const LaunchShape& shape, std::int32_t num_dep_events,
                            tgt_event_t* dep_events, tgt_event_t* completion_event) {
  const tgt_launch_shape& asked = shape.asked;
  if (is_one_call(shape, rtl, rtl_id, rtl.async_run_shaped))
    return rtl.async_run_target_region(rtl_id, function, arguments, count, num_dep_events, dep_events,
                                       completion_event);
  if (rtl.async_run_shaped)
    return rtl.async_run_shaped(rtl_id, function, arguments, count, &asked, num_dep_events, dep_events,
                                completion_event);
  return rtl.async_run_target_team_region(rtl_id, function, arguments, count, counted(asked.teams[0]),
                                          counted(asked.threads[0]), num_dep_events, dep_events, completion_event);
}

} // namespace omptool
