; A kernel for tests/gpu/sources/faults.c that needs more memory of a team's own than any device has: 64 MiB.

@much = internal global [8388608 x i64] undef, section "omptool.team"

; void right(i64 *place, i64 value)
define void @right(ptr %place, i64 %value) {
  %own = getelementptr i64, ptr @much, i64 %value
  store volatile i64 %value, ptr %own
  %again = load volatile i64, ptr %own
  store i64 %again, ptr %place
  ret void
}
