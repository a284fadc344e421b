; A team is a work-group of a one-dimensional range. LLVM knows these names as those of built-in functions of OpenCL
; and SPIR-V; a pointer is one of the generic address space when this is compiled.

declare spir_func i64 @_Z12get_group_idj(i32)
declare spir_func i64 @_Z14get_num_groupsj(i32)
declare spir_func i64 @_Z12get_local_idj(i32)
declare spir_func i64 @_Z14get_local_sizej(i32)
define i32 @omp_get_team_num() alwaysinline nounwind {
  %wide = call spir_func i64 @_Z12get_group_idj(i32 0)
  %value = trunc i64 %wide to i32
  ret i32 %value
}
define i32 @omp_get_num_teams() alwaysinline nounwind {
  %wide = call spir_func i64 @_Z14get_num_groupsj(i32 0)
  %value = trunc i64 %wide to i32
  ret i32 %value
}
define i32 @omp_get_thread_num() alwaysinline nounwind {
  %wide = call spir_func i64 @_Z12get_local_idj(i32 0)
  %value = trunc i64 %wide to i32
  ret i32 %value
}
define i32 @omp_get_num_threads() alwaysinline nounwind {
  %wide = call spir_func i64 @_Z14get_local_sizej(i32 0)
  %value = trunc i64 %wide to i32
  ret i32 %value
}
define i32 @omp_is_initial_device() alwaysinline nounwind {
  ret i32 0
}

; The specialisation constant 1: the plugin gives it the device's number before it has the module compiled.
declare spir_func i32 @_Z20__spirv_SpecConstantii(i32, i32)
define i32 @omp_get_device_num() alwaysinline nounwind {
  %value = call spir_func i32 @_Z20__spirv_SpecConstantii(i32 1, i32 0)
  ret i32 %value
}

; Scope and memory scope 2: Workgroup. Semantics 0x310: SequentiallyConsistent, WorkgroupMemory, CrossWorkgroupMemory.
declare spir_func void @_Z22__spirv_ControlBarrieriii(i32, i32, i32) convergent nounwind
define void @omptool_team_barrier() alwaysinline convergent nounwind {
  call spir_func void @_Z22__spirv_ControlBarrieriii(i32 2, i32 2, i32 784)
  ret void
}
