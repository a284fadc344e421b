// A region of clang's; the environment may ask for more memory of a team's own than there is.
#include <omp.h>
#include <stdio.h>

int main(void) {
  int value = 0, on_host = 1;
#pragma omp target teams num_teams(1) map(tofrom : value, on_host)
  {
    value = 7;
    on_host = omp_is_initial_device();
  }
  printf("%s %d\n", on_host ? "host" : "device", value);
  return 0;
}
