; A team is a work-group of a one-dimensional grid, whose work-groups are all of one size. The implicit arguments of a
; kernel are those of code object version 5: LLVM's "User Guide for AMDGPU Backend", "Code Object V5 Metadata".

declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
define i32 @omp_get_team_num() alwaysinline nounwind {
  %value = call i32 @llvm.amdgcn.workgroup.id.x()
  ret i32 %value
}
define i32 @omp_get_num_teams() alwaysinline nounwind {
  %arguments = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %value = load i32, ptr addrspace(4) %arguments, align 4 ; hidden_block_count_x
  ret i32 %value
}
define i32 @omp_get_thread_num() alwaysinline nounwind {
  %value = call i32 @llvm.amdgcn.workitem.id.x()
  ret i32 %value
}
define i32 @omp_get_num_threads() alwaysinline nounwind {
  %arguments = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %at = getelementptr i8, ptr addrspace(4) %arguments, i64 12
  %short = load i16, ptr addrspace(4) %at, align 4 ; hidden_group_size_x
  %value = zext i16 %short to i32
  ret i32 %value
}
define i32 @omp_is_initial_device() alwaysinline nounwind {
  ret i32 0
}

; The plugin stores the device's number when it has loaded the image.
@__omptool_device_num = protected externally_initialized global i32 0
define i32 @omp_get_device_num() alwaysinline nounwind {
  %value = load i32, ptr @__omptool_device_num, align 4
  ret i32 %value
}

declare void @llvm.amdgcn.s.barrier() convergent nounwind
define void @omptool_team_barrier() alwaysinline convergent nounwind {
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  ret void
}
