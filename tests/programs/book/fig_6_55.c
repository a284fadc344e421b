/* Figure 6.55: delete removes an object whatever its count, and ignores one that is not there. */
#include "book.h"

static char text[128] = "0";

static int enough(char* at, int wanted) {
  return ++at[0] == '0' + wanted;
}

static int enter_until(int done, int wanted) {
  int entered = 0;
  while (!done) {
#pragma omp target enter data map(to : text)
    ++entered;
    done = enough(text, wanted);
  }
  if (entered)
    CHECK(omp_target_is_present(text, omp_get_default_device()));
#pragma omp target exit data map(delete : text)
  CHECK(!omp_target_is_present(text, omp_get_default_device()));
  return entered;
}

int main(void) {
  int on_device = 0;
  CHECK(enter_until(0, 4) == 4);
  CHECK(text[0] == '4'); /* nothing came back */
  CHECK(enter_until(1, 0) == 0);
#pragma omp target map(to : text) map(from : on_device) /* maps anew */
  on_device = ON_DEVICE() && text[0] == '4';
  CHECK(on_device);
  return report();
}
