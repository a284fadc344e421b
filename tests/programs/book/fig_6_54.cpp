/* Figure 6.54: a class that maps its memory when it gets it and unmaps it before it gives it back. */
#include "book.h"

class series {
  int length = 0;
  double* values = nullptr;

public:
  void allocate(int n) {
    double* fresh = new double[n];
    values = fresh;
    length = n;
#pragma omp target enter data map(alloc : fresh[0 : length])
  }

  void release() {
    double* mine = values;
#pragma omp target exit data map(release : mine[0 : length])
    delete[] mine;
    values = nullptr;
    length = 0;
  }

  bool fill() {
    double* mine = values;
    int const n = length;
    int on_device = 0;
#pragma omp target map(mine[0 : n]) map(from : on_device)
    {
      on_device = ON_DEVICE();
      for (int i = 0; i < n; ++i)
        mine[i] = i * 0.5;
    }
    return on_device;
  }

  double fetch(int at) {
    double* mine = values;
#pragma omp target update from(mine[at : 1])
    return mine[at];
  }

  bool present() const { return omp_target_is_present(values, omp_get_default_device()); }
};

int main() {
  series numbers;
  for (int round = 0; round < 3; ++round) {
    numbers.allocate(1000 + round);
    CHECK(numbers.present());
    CHECK(numbers.fill());
    CHECK(numbers.fetch(999) == 499.5);
    numbers.release();
    CHECK(!numbers.present());
  }
  return report();
}
