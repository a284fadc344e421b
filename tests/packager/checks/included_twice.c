/* One region of a header, twice. */
int main(void) {
  int x = 0;
#define STEP 1
#include "region_of_step.h"
#undef STEP
#define STEP 2
#include "region_of_step.h"
  return x != 3;
}
