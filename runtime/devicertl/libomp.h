// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares functions that an image imports: those of libomp and of Fortran's runtime.
#pragma once

#include <cstdint>

struct ident_t; // where in the source; libomp reads it

extern "C" {

using kmpc_micro = void (*)(std::int32_t* gtid, std::int32_t* bound_tid, ...);
void __kmpc_fork_call(ident_t* where, std::int32_t count, kmpc_micro body, ...);
void __kmpc_push_num_threads(ident_t* where, std::int32_t gtid, std::int32_t threads);
void __kmpc_push_proc_bind(ident_t* where, std::int32_t gtid, std::int32_t bind);
void __kmpc_serialized_parallel(ident_t* where, std::int32_t gtid);
void __kmpc_end_serialized_parallel(ident_t* where, std::int32_t gtid);
std::int32_t __kmpc_global_thread_num(ident_t* where);
void __kmpc_barrier(ident_t* where, std::int32_t gtid);
void __kmpc_critical(ident_t* where, std::int32_t gtid, void* name);
void __kmpc_end_critical(ident_t* where, std::int32_t gtid, void* name);
int omp_get_thread_num();
int omp_get_max_threads();

// Flush function, or null in an image without Fortran's input and output.
[[gnu::weak]] void* _FortranAioBeginFlush(std::int32_t unit, const char* file, std::int32_t line);
[[gnu::weak]] std::int32_t _FortranAioEndIoStatement(void* statement);
}
