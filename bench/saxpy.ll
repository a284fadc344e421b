; void saxpy(float *y, float *x, bits of float a, i64 n): a block of elements for each team, of which its threads take
; neighbours in turn. So the memory of GPUs likes it, and a team of one thread goes straight on. The number of turns is
; known before the loop, as vectorisers need it.
define void @saxpy(ptr noalias %y, ptr noalias %x, i64 %a.bits, i64 %n) {
entry:
  %a.low = trunc i64 %a.bits to i32
  %a = bitcast i32 %a.low to float
  %team.32 = call i32 @omp_get_team_num()
  %teams.32 = call i32 @omp_get_num_teams()
  %thread.32 = call i32 @omp_get_thread_num()
  %threads.32 = call i32 @omp_get_num_threads()
  %team = zext i32 %team.32 to i64
  %teams = zext i32 %teams.32 to i64
  %thread = zext i32 %thread.32 to i64
  %threads = zext i32 %threads.32 to i64
  %next.team = add nuw nsw i64 %team, 1
  %begin.all = mul nuw nsw i64 %team, %n
  %end.all = mul nuw nsw i64 %next.team, %n
  %begin = udiv i64 %begin.all, %teams
  %end = udiv i64 %end.all, %teams
  %first = add nuw nsw i64 %begin, %thread
  %left = sub nsw i64 %end, %first
  %almost = add nsw i64 %left, %threads
  %rounded = sub nsw i64 %almost, 1
  %count = sdiv i64 %rounded, %threads
  br label %loop

loop:
  %turn = phi i64 [ 0, %entry ], [ %next, %body ]
  %is.element = icmp slt i64 %turn, %count
  br i1 %is.element, label %body, label %done

body:
  %before = mul nuw nsw i64 %turn, %threads
  %i = add nuw nsw i64 %first, %before
  %at.y = getelementptr inbounds float, ptr %y, i64 %i
  %at.x = getelementptr inbounds float, ptr %x, i64 %i
  %value.y = load float, ptr %at.y
  %value.x = load float, ptr %at.x
  %product = fmul contract float %a, %value.x
  %sum = fadd contract float %value.y, %product
  store float %sum, ptr %at.y
  %next = add nuw nsw i64 %turn, 1
  br label %loop

done:
  ret void
}

declare i32 @omp_get_team_num()
declare i32 @omp_get_num_teams()
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
