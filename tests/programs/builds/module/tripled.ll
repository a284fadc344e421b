; Three times, and nine times, i64 *values.
define void @first(ptr %values) {
  %old = load i64, ptr %values
  %new = mul i64 %old, 3
  store i64 %new, ptr %values
  ret void
}

define void @second(ptr %values) {
  %old = load i64, ptr %values
  %new = mul i64 %old, 9
  store i64 %new, ptr %values
  ret void
}
