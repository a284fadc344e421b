/* Figure 6.33: a construct of its own maps the variable that teams distribute reduces. */
#include "book.h"

static int dot(const int* restrict u, const int* restrict v, int n) {
  int sum = 0;
#pragma omp target map(sum) map(to : u[ : n], v[ : n])
#pragma omp teams distribute reduction(+ : sum)
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
