/* Regions that read and write beyond an object: right behind its end, before its beginning, from several threads, and
 * in a function of the C library. What the program computes is the same as without the checker. */
#include "../openmp/check.h"

enum { N = 101, PAGE = 1024 };

int main(void) {
  int few[N], sum = 0, last = N, before = -1;
  int* whole = malloc(PAGE * sizeof *whole);
  for (int i = 0; i < N; ++i)
    few[i] = i;
  for (int i = 0; i < PAGE; ++i)
    whole[i] = i;
#pragma omp target map(to : few, last) map(tofrom : sum)
  for (int i = 0; i <= last; ++i)
    sum += few[i] != -12345; /* OMP321: reads the element behind the last one */
  CHECK(sum == N + 1);
#pragma omp target map(tofrom : whole[0 : PAGE]) map(to : before)
  whole[before] = 7; /* OMP321: writes before the first element */
#pragma omp target teams distribute parallel for map(tofrom : few) map(to : last)
  for (int i = 0; i < N + 1; ++i)
    few[i] = 2 * i; /* OMP321: the last iteration writes behind the last element */
  CHECK(few[N - 1] == 2 * (N - 1));
  size_t length = sizeof few + 8;
#pragma omp target map(tofrom : few) map(to : length) map(tofrom : sum)
  sum += memset(few, 0, length) == few; /* OMP321: the C library writes behind the last element */
  CHECK(few[0] == 0);
  free(whole);
  return report();
}
