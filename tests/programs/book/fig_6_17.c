/* Figure 6.17: a matrix times a vector, rows shared by the device's threads. */
#include "book.h"

static void times(int rows, int columns, double* restrict result, const double* restrict matrix,
                  const double* restrict vector, int* on_device) {
#pragma omp target map(tofrom : result[ : rows], on_device[ : 1]) map(to : matrix[ : rows * columns])                  \
    map(to : vector[ : columns]) firstprivate(rows, columns)
  {
    int row, column;
    on_device[0] = ON_DEVICE();
#pragma omp parallel for default(none) shared(rows, columns, result, matrix, vector) private(row, column)
    for (row = 0; row < rows; ++row) {
      result[row] = 0;
      for (column = 0; column < columns; ++column)
        result[row] += matrix[row * columns + column] * vector[column];
    }
  }
}

int main(void) {
  enum { ROWS = 70, COLUMNS = 30 };
  double result[ROWS], matrix[ROWS * COLUMNS], vector[COLUMNS];
  int on_device = 0;
  for (int i = 0; i < ROWS * COLUMNS; ++i)
    matrix[i] = i % 11;
  for (int i = 0; i < COLUMNS; ++i)
    vector[i] = i % 7 - 3;
  times(ROWS, COLUMNS, result, matrix, vector, &on_device);
  CHECK(on_device);
  for (int row = 0; row < ROWS; ++row) {
    double expected = 0;
    for (int column = 0; column < COLUMNS; ++column)
      expected += matrix[row * COLUMNS + column] * vector[column];
    CHECK(result[row] == expected);
  }
  return report();
}
