; A team is a block of a one-dimensional grid.

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define i32 @omp_get_team_num() alwaysinline nounwind {
  %value = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  ret i32 %value
}
define i32 @omp_get_num_teams() alwaysinline nounwind {
  %value = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  ret i32 %value
}
define i32 @omp_get_thread_num() alwaysinline nounwind {
  %value = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %value
}
define i32 @omp_get_num_threads() alwaysinline nounwind {
  %value = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
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

; bar.sync and not its aligned form: threads of one warp may come from different places of the code.
declare void @llvm.nvvm.barrier.cta.sync.all(i32) convergent nounwind
define void @omptool_team_barrier() alwaysinline convergent nounwind {
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  ret void
}

; LLVM packs the arguments as vprintf reads them.
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
declare i32 @vprintf(ptr, ptr)
define i32 @printf(ptr %format, ...) nounwind {
  %list = alloca ptr, align 8
  call void @llvm.va_start.p0(ptr %list)
  %arguments = load ptr, ptr %list, align 8
  %length = call i32 @vprintf(ptr %format, ptr %arguments)
  call void @llvm.va_end.p0(ptr %list)
  ret i32 %length
}
@.omptool.line = private unnamed_addr constant [4 x i8] c"%s\0A\00"
define i32 @puts(ptr %text) nounwind {
  %length = call i32 (ptr, ...) @printf(ptr @.omptool.line, ptr %text)
  ret i32 %length
}
@.omptool.character = private unnamed_addr constant [3 x i8] c"%c\00"
define i32 @putchar(i32 %character) nounwind {
  %length = call i32 (ptr, ...) @printf(ptr @.omptool.character, i32 %character)
  ret i32 %character
}
