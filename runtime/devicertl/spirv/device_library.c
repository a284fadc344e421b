/* Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   The device library of clang's OpenMP kernels (clang 22 and later, spirv64-intel) on OpenCL's devices. `omptool link`
   joins it with their bitcode before LLVM makes SPIR-V of both. The work-items of a work-group are the threads of a
   team. Memory that clang asks for by __kmpc_alloc_shared is each thread's own: the link makes local variables of it.
 */
#include "loops.h"
#include "parallel.h"
#include "reductions.h"
#include "routines.h"
#include "synchronisation.h"
