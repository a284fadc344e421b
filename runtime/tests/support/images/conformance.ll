; Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What conformance.c does, as portable kernels (docs/kernels.md): `omptool lower` makes an image of it for a GPU.

@counter = global i32 5

define void @nothing() {
  ret void
}

define void @add(ptr %values, i64 %count, i64 %amount) {
entry:
  %more = trunc i64 %amount to i32
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %goes.on = icmp slt i64 %i, %count
  br i1 %goes.on, label %body, label %done
body:
  %at = getelementptr i32, ptr %values, i64 %i
  %old = load i32, ptr %at
  %new = add i32 %old, %more
  store i32 %new, ptr %at
  %next = add i64 %i, 1
  br label %test
done:
  ret void
}

define void @add_to_counter(i64 %amount) {
  %more = trunc i64 %amount to i32
  %old = load i32, ptr @counter
  %new = add i32 %old, %more
  store i32 %new, ptr @counter
  ret void
}

define void @store_seven(ptr %seen, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f) {
  store i64 %a, ptr %seen
  %at.1 = getelementptr i64, ptr %seen, i64 1
  store i64 %b, ptr %at.1
  %at.2 = getelementptr i64, ptr %seen, i64 2
  store i64 %c, ptr %at.2
  %at.3 = getelementptr i64, ptr %seen, i64 3
  store i64 %d, ptr %at.3
  %at.4 = getelementptr i64, ptr %seen, i64 4
  store i64 %e, ptr %at.4
  %at.5 = getelementptr i64, ptr %seen, i64 5
  store i64 %f, ptr %at.5
  ret void
}

define void @count_calls(ptr %calls) {
  %before = atomicrmw add ptr %calls, i32 1 monotonic
  ret void
}

; Ends when `gate` is open: the host opens it while the kernel runs.
define void @hold(ptr %gate) {
entry:
  br label %test
test:
  %open = load atomic volatile i32, ptr %gate monotonic, align 4
  %is.closed = icmp eq i32 %open, 0
  br i1 %is.closed, label %test, label %done
done:
  ret void
}

; Ends when as many as `count` have begun.
define void @meet(ptr %begun, i64 %count) {
entry:
  %all = trunc i64 %count to i32
  %before = atomicrmw add ptr %begun, i32 1 monotonic
  br label %test
test:
  %now = load atomic volatile i32, ptr %begun monotonic, align 4
  %too.few = icmp slt i32 %now, %all
  br i1 %too.few, label %test, label %done
done:
  ret void
}

; Adds `number` to a list: its length, how many are inside, how often several were, and the numbers.
define void @note(ptr %list, i64 %number) {
entry:
  %inside = getelementptr i32, ptr %list, i64 1
  %several = getelementptr i32, ptr %list, i64 2
  %others = atomicrmw add ptr %inside, i32 1 monotonic
  %is.alone = icmp eq i32 %others, 0
  br i1 %is.alone, label %alone, label %together
together:
  %times = atomicrmw add ptr %several, i32 1 monotonic
  br label %alone
alone:
  %place = atomicrmw add ptr %list, i32 1 monotonic
  %slot.32 = add i32 %place, 3
  %slot = zext i32 %slot.32 to i64
  %at = getelementptr i32, ptr %list, i64 %slot
  %value = trunc i64 %number to i32
  store i32 %value, ptr %at
  %left = atomicrmw sub ptr %inside, i32 1 monotonic
  ret void
}
