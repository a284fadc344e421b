/* Figure 6.32: a reduction on the combined construct. By OpenMP 4.5 its sum is lost, as the figure says;
 * since 5.0 the clause maps the variable, and every clang here does that. */
#include "book.h"

static int dot(const int* restrict u, const int* restrict v, int n) {
  int sum = 0;
#pragma omp target teams distribute map(to : u[ : n], v[ : n]) reduction(+ : sum)
  for (int i = 0; i < n; ++i)
    sum += ON_DEVICE() ? u[i] * v[i] : 1;
  return sum;
}

int main(void) {
  int u[100], v[100], expected = 0;
  for (int i = 0; i < 100; ++i)
    expected += (u[i] = i) * (v[i] = 2 - i % 5);
  CHECK(expected != 0 && dot(u, v, 100) == expected);
  return report();
}
