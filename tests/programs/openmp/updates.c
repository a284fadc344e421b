/* Updates of sections that are not contiguous. */
#include "check.h"

int main(void) {
  static int a[20][30], b[4][5][6];
#pragma omp target enter data map(to : a, b)
#pragma omp target
  {
    for (int i = 0; i < 600; ++i)
      a[i / 30][i % 30] = i + 1;
    for (int i = 0; i < 120; ++i)
      b[i / 30][i / 6 % 5][i % 6] = i + 1;
  }
#pragma omp target update from(a[0 : 5 : 2][0 : 10])
  int right = 0;
  for (int i = 0; i < 600; ++i) {
    const int taken = i / 30 < 10 && i / 30 % 2 == 0 && i % 30 < 10;
    right += a[i / 30][i % 30] == (taken ? i + 1 : 0);
  }
  CHECK(right == 600);
#pragma omp target update from(b[1 : 2][2 : 2][0 : 2 : 3])
  right = 0;
  for (int i = 0; i < 120; ++i) {
    const int x = i / 30, y = i / 6 % 5, z = i % 6;
    const int taken = (x == 1 || x == 2) && (y == 2 || y == 3) && (z == 0 || z == 3);
    right += b[x][y][z] == (taken ? i + 1 : 0);
  }
  CHECK(right == 120);
#pragma omp target update from(a[12 : 2][1 : 3 : 2])
  right = 0;
  for (int i = 0; i < 600; ++i) {
    const int x = i / 30, y = i % 30;
    const int before = x < 10 && x % 2 == 0 && y < 10, taken = (x == 12 || x == 13) && (y == 1 || y == 3 || y == 5);
    right += a[x][y] == (before || taken ? i + 1 : 0);
  }
  CHECK(right == 600);
  a[1][29] = -1;
#pragma omp target update to(a[1 : 1][29 : 1])
  int seen = 0;
#pragma omp target map(from : seen)
  seen = a[1][29];
  CHECK(seen == -1);
#pragma omp target exit data map(delete : a, b)
#if __clang_major__ >= 22 /* older ones update what lies between, too */
  static int line[24];
#pragma omp target map(tofrom : line)
  for (int i = 0; i < 24; ++i)
    line[i] = i;
#pragma omp target data map(alloc : line)
  {
#pragma omp target
    for (int i = 0; i < 24; ++i)
      line[i] = -i;
#pragma omp target update from(line[3 : 4 : 2])
  }
  for (int i = 0; i < 24; ++i)
    CHECK(line[i] == (i == 3 || i == 5 || i == 7 || i == 9 ? -i : i));
#endif
  return report();
}
