; Kernels for bare.c.

define void @nothing() {
  ret void
}

; void one(double *b): as constructs.c's map.
define void @one(ptr %b) {
  %old = load double, ptr %b
  %new = fadd double %old, 1.0
  store double %new, ptr %b
  ret void
}
