/* The CPU device has no interoperability objects: each is omp_interop_none, and the routines say so. */
#include "check.h"

static void ask(omp_interop_t object) {
#ifndef ONLY_WHAT_LLVM_CAN
  CHECK(object == omp_interop_none);
  CHECK(omp_get_num_interop_properties(object) == 0);
  for (int property = omp_ipr_first; property < 0; ++property) {
    int code = 77;
    CHECK(omp_get_interop_int(object, (omp_interop_property_t)property, &code) == 0 && code == omp_irc_empty);
    code = 77;
    CHECK(!omp_get_interop_ptr(object, (omp_interop_property_t)property, &code) && code == omp_irc_empty);
    code = 77;
    CHECK(!omp_get_interop_str(object, (omp_interop_property_t)property, &code) && code == omp_irc_empty);
    CHECK(!omp_get_interop_name(object, (omp_interop_property_t)property));
    CHECK(!omp_get_interop_type_desc(object, (omp_interop_property_t)property));
  }
  const int absent[] = {omp_ipr_first - 1, 0, 1};
  for (int i = 0; i < 3; ++i) {
    int code = 77;
    CHECK(omp_get_interop_int(object, (omp_interop_property_t)absent[i], &code) == 0);
    CHECK(code == omp_irc_out_of_range);
  }
  CHECK(omp_get_interop_rc_desc(object, omp_irc_empty) != NULL);
  CHECK(omp_get_interop_int(object, omp_ipr_fr_id, NULL) == 0);
#else
  (void)object;
#endif
}

int main(void) {
  omp_interop_t object = omp_interop_none;
  ask(object);
#if __clang_major__ >= 18 /* before, some have no code for it */
  int x = 0;
#pragma omp target nowait map(tofrom : x) depend(inout : x)
  x = 1;
#pragma omp interop init(targetsync : object) depend(inout : x)
  CHECK(x == 1);
  ask(object);
#pragma omp interop use(object)
#pragma omp interop destroy(object)
#pragma omp interop init(target : object) device(0)
  ask(object);
#pragma omp interop destroy(object) nowait
#endif
  return report();
}
