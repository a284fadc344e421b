/* A library whose variable lives on the device. */
static const int table[2] = {0, 1};
int count = 1;
#pragma omp declare target to(count)

int next(void) {
  int n = 0, one = 1;
#pragma omp target map(from : n)
  n = (count += table[one]) - 1;
  return n;
}
