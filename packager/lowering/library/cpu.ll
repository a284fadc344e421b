; A plugin that runs kernels on a CPU stores functions in the exported variables when it loads an image, before any
; kernel runs; runtime/plugins/host/kernels/thread_state.h describes them. Until then a kernel sees itself alone:
; team 0 of 1, thread 0 of 1.

@__omptool_thread_state = protected global ptr @.omptool.alone
@.omptool.alone.state = private constant [5 x i32] [i32 0, i32 1, i32 0, i32 1, i32 0], align 4
define internal ptr @.omptool.alone() {
  ret ptr @.omptool.alone.state
}

; memory(read): the record changes only between kernels, and at a barrier, which writes memory.
define internal i32 @.omptool.field(i64 %index) alwaysinline nounwind {
  %function = load ptr, ptr @__omptool_thread_state, align 8
  %state = call ptr %function() nounwind willreturn memory(read)
  %field = getelementptr i32, ptr %state, i64 %index
  %value = load i32, ptr %field, align 4
  ret i32 %value
}
define i32 @omp_get_team_num() alwaysinline nounwind {
  %value = call i32 @.omptool.field(i64 0)
  ret i32 %value
}
define i32 @omp_get_num_teams() alwaysinline nounwind {
  %value = call i32 @.omptool.field(i64 1)
  ret i32 %value
}
define i32 @omp_get_thread_num() alwaysinline nounwind {
  %value = call i32 @.omptool.field(i64 2)
  ret i32 %value
}
define i32 @omp_get_num_threads() alwaysinline nounwind {
  %value = call i32 @.omptool.field(i64 3)
  ret i32 %value
}
define i32 @omp_get_device_num() alwaysinline nounwind {
  %value = call i32 @.omptool.field(i64 4)
  ret i32 %value
}
define i32 @omp_is_initial_device() alwaysinline nounwind {
  ret i32 0
}

@__omptool_team_barrier = protected global ptr @.omptool.alone.barrier
define internal void @.omptool.alone.barrier() {
  ret void
}
define void @omptool_team_barrier() alwaysinline nounwind {
  %function = load ptr, ptr @__omptool_team_barrier, align 8
  call void %function() nounwind
  ret void
}
