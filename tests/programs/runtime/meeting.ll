; void meet(i32 *come, i64 expected): returns when as many threads are here, of whatever devices.
define void @meet(ptr %come, i64 %expected) {
entry:
  %before = atomicrmw add ptr %come, i32 1 seq_cst
  br label %wait

wait:
  %there.32 = load atomic i32, ptr %come seq_cst, align 4
  %there = sext i32 %there.32 to i64
  %all = icmp sge i64 %there, %expected
  br i1 %all, label %done, label %wait

done:
  ret void
}
