/* A region writes before the first element, on the page where the object begins: that shows when the object goes. */
#include "../openmp/check.h"

int main(void) {
  int few[10] = {0}, before = -1;
  /* The line is that of the region: nobody saw the instruction. */
  _Pragma("omp target map(tofrom : few) map(to : before)") few[before] = 7; /* OMP321 */
  CHECK(few[0] == 0);
  return report();
}
