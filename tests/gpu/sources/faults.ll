; Kernels for faults.c; portable ones, as docs/kernels.md has them.

; void right(i64 *place, i64 value)
define void @right(ptr %place, i64 %value) {
  store i64 %value, ptr %place
  ret void
}

; void fault(i64 *place, i64 value): the place is not the device's.
define void @fault(ptr %place, i64 %value) {
  store volatile i64 %value, ptr %place
  ret void
}

; void endless(i64 *place, i64 value): ends when the place holds the value.
define void @endless(ptr %place, i64 %value) {
entry:
  br label %test
test:
  %now = load volatile i64, ptr %place
  %is.done = icmp eq i64 %now, %value
  br i1 %is.done, label %done, label %test
done:
  ret void
}
