/* Disassociates what constructs hold, what has only been mapped, and what is not there. */
#include <omp.h>

int associated[4], mapped[4], kept[4];

static int refused(void* object) {
  return omp_target_disassociate_ptr(object, 0) == -1;
}

int main(void) {
  int count = 0;
  omp_target_associate_ptr(associated, omp_target_alloc(sizeof associated, 0), sizeof associated, 0, 0);
#pragma omp target enter data map(alloc : mapped)
#pragma omp target data map(ompx_hold, tofrom : associated, mapped, kept)
  count = refused(associated) + refused(mapped) + refused(kept);
  count += refused(mapped) + refused(kept);
  return count != 5 || refused(associated);
}
