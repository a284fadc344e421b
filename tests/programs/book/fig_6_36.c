/* Figure 6.36: which map types copy on entry and which on exit. */
#include "book.h"

enum { HOST = 1, DEVICE = 2 };

int main(void) {
  int alloc = HOST, to = HOST, from = HOST, both = HOST, got_to = 0, got_both = 0, on_device = 0;
#pragma omp target map(alloc : alloc) map(to : to) map(from : from) map(tofrom : both)                                 \
    map(from : got_to, got_both, on_device)
  {
    on_device = ON_DEVICE();
    got_to = to;
    got_both = both;
    alloc = to = from = both = DEVICE;
  }
  CHECK(on_device);
  CHECK(got_to == HOST && got_both == HOST);
  CHECK(alloc == HOST && to == HOST && from == DEVICE && both == DEVICE);

  int released = HOST, deleted = HOST, fetched = HOST, device = omp_get_default_device();
#pragma omp target enter data map(to : released, deleted, fetched)
#pragma omp target enter data map(to : released, deleted, fetched)
#pragma omp target map(released, deleted, fetched)
  released = deleted = fetched = DEVICE;
#pragma omp target exit data map(release : released) map(delete : deleted) map(from : fetched)
  CHECK(omp_target_is_present(&released, device) && !omp_target_is_present(&deleted, device));
  CHECK(omp_target_is_present(&fetched, device) && fetched == HOST);
#pragma omp target exit data map(release : released) map(from : fetched)
  CHECK(!omp_target_is_present(&released, device) && !omp_target_is_present(&fetched, device));
  CHECK(released == HOST && deleted == HOST && fetched == DEVICE);
  return report();
}
