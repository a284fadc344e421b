; Variables that OpenCL finds by name, beside a kernel that uses them.
@calls = global i64 40
@weights = global [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@own = internal global i32 7

define void @count(ptr %out) {
  %calls = load i64, ptr @calls
  %second = getelementptr [4 x i32], ptr @weights, i64 0, i64 1
  %weight = load i32, ptr %second
  %wide = zext i32 %weight to i64
  %sum = add i64 %calls, %wide
  store i64 %sum, ptr %out
  %own = load i32, ptr @own
  store i32 %own, ptr %second
  ret void
}
