// One kernel of a method that two objects have; with OTHER there are more kernels before it.
#include <cstdio>

#ifdef OTHER
static int first(int n) {
  int r = n;
#pragma omp target teams distribute parallel for reduction(+ : r)
  for (int i = 0; i < 9; i++)
    r += i * n;
#pragma omp target
  if (n == 77)
    printf("other %d %f\n", n, n * 2.5);
  return r;
}
#endif

struct Sum {
  int run(int n) {
    int r = 0;
#pragma omp target teams distribute parallel for reduction(+ : r)
    for (int i = 0; i < n; i++)
      r += i;
#pragma omp target map(tofrom : r)
    if (r == 77)
      printf("sum %d %f\n", r, r * 1.5);
    return r;
  }
};

#ifdef OTHER
int second() {
  return first(1) + Sum{}.run(3);
}
#else
int second();
int main() {
  printf("%d %d\n", Sum{}.run(4), second());
}
#endif
