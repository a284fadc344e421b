// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loader (ICD) of OpenCL, opened at run time, and texts for the results of its calls.
#pragma once

#include "cl.h"

#include <string>

namespace omptool::opencl {

// Opens libOpenCL.so.1. False, and why: it is not there, or lacks a function.
bool open_loader(Loader& loader, std::string& why);
Extensions extensions_of(const Loader& loader, cl_platform_id platform);

// "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)"
std::string failure_of(const char* call, cl_int error);

// An event's status: above CL_COMPLETE while its command has not ended, below it when that has failed.
cl_int status_of(const Loader& loader, cl_event event);
// Waits for an event. CL_COMPLETE, or how its command, or the wait, has failed.
cl_int wait_for(const Loader& loader, cl_event event);

} // namespace omptool::opencl
