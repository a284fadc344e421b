; What clang 22 calls to run a parallel region, by what clang 18 to 21's device library has. The last
; argument says whether fewer threads than asked for are an error (num_threads(strict: n)).

declare void @__kmpc_parallel_51(ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64)

define weak_odr hidden void @__kmpc_parallel_60(ptr %ident, i32 %id, i32 %if, i32 %threads, i32 %bind, ptr %function, ptr %wrapper, ptr %arguments, i64 %count, i32 %strict) alwaysinline {
  call void @__kmpc_parallel_51(ptr %ident, i32 %id, i32 %if, i32 %threads, i32 %bind, ptr %function, ptr %wrapper, ptr %arguments, i64 %count)
  ret void
}
