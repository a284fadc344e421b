; void saxpy(double *y, double *x, i64 n): neighbouring threads take neighbouring elements.
define void @saxpy(ptr %y, ptr %x, i64 %n) {
entry:
  %team.32 = call i32 @omp_get_team_num()
  %teams.32 = call i32 @omp_get_num_teams()
  %thread.32 = call i32 @omp_get_thread_num()
  %threads.32 = call i32 @omp_get_num_threads()
  %team = zext i32 %team.32 to i64
  %teams = zext i32 %teams.32 to i64
  %thread = zext i32 %thread.32 to i64
  %threads = zext i32 %threads.32 to i64
  %before = mul i64 %team, %threads
  %first = add i64 %before, %thread
  %all = mul i64 %teams, %threads
  br label %test
test:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %at.x = getelementptr double, ptr %x, i64 %i
  %at.y = getelementptr double, ptr %y, i64 %i
  %vx = load double, ptr %at.x
  %vy = load double, ptr %at.y
  %product = fmul double %vx, 3.0
  %sum = fadd double %vy, %product
  store double %sum, ptr %at.y
  %next = add i64 %i, %all
  br label %test
done:
  ret void
}
declare i32 @omp_get_team_num()
declare i32 @omp_get_num_teams()
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
