/* Products of a matrix and a vector, which add to what nobody has written. Compilers load the sum before the inner
 * loop, and give that load no line. */
#include <stdlib.h>

enum { N = 96 };

static int *matrix, *vector, *product;

static void by_one_construct(void) {
#pragma omp target map(to : matrix[0 : N * N], vector[0 : N]) map(from : product[0 : N])
#pragma omp teams distribute parallel for
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      product[i] += matrix[i * N + j] * vector[j];
}

static void combined(void) {
#pragma omp target teams distribute parallel for map(to : matrix[0 : N * N], vector[0 : N]) map(from : product[0 : N])
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      product[i] += matrix[i * N + j] * vector[j];
}

static void mapped_around(void) {
#pragma omp target enter data map(to : matrix[0 : N * N], vector[0 : N]) map(alloc : product[0 : N])
#pragma omp target
  {
#pragma omp teams distribute parallel for
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j)
        product[i] += matrix[i * N + j] * vector[j];
  }
#pragma omp target exit data map(from : product[0 : N]) map(release : matrix[0 : N * N], vector[0 : N])
}

static void in_part(void) {
#pragma omp target map(to : matrix[0 : N * N], vector[0 : N]) map(tofrom : product[0 : N / 2])
  {
#pragma omp teams distribute parallel for
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j)
        product[i] += matrix[i * N + j] * vector[j];
  }
}

int main(void) {
  matrix = calloc(N * N, sizeof *matrix);
  vector = calloc(N, sizeof *vector);
  product = calloc(N, sizeof *product);
  by_one_construct();
  combined();
  mapped_around();
  in_part();
  free(matrix);
  free(vector);
  free(product);
  return 0;
}
