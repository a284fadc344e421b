// Device globals with constructors, references, lambdas, member functions, virtual-free classes.
#include "check.h"

struct Counted {
  int value;
  Counted() : value(40) {}
  ~Counted() { value = 0; }
};
#pragma omp declare target
Counted counted;
#pragma omp end declare target

class Sum {
public:
  explicit Sum(int n) : n_(n), data_(new int[n]) {
    for (int i = 0; i < n; ++i)
      data_[i] = i;
  }
  ~Sum() { delete[] data_; }
  long run() {
    long total = 0;
#pragma omp target map(tofrom : total) map(to : this[0 : 1], data_[0 : n_])
    for (int i = 0; i < n_; ++i)
      total += data_[i];
    return total;
  }

private:
  int n_;
  int* data_;
};

template <typename T> T twice(T x) {
  T result = 0;
#pragma omp target map(from : result)
  result = x + x;
  return result;
}

static void references(int& r) {
#pragma omp target map(tofrom : r)
  r += 1;
}

static void lambdas() {
  int a = 3, b = 4, c = 0;
  auto add = [&]() { c = a + b; };
#pragma omp target map(tofrom : c) map(to : a, b)
  add();
  CHECK(c == 7);
  int scale = 5;
  auto by_value = [scale](int x) { return scale * x; };
  int out = 0;
#pragma omp target map(from : out)
  out = by_value(6);
  CHECK(out == 30);
}

int main() {
  int seen = 0;
#pragma omp target map(from : seen)
  seen = counted.value + 2;
  CHECK(seen == 42);
  CHECK(Sum(10).run() == 45);
  CHECK(twice(21) == 42 && twice(1.5) == 3.0);
  int r = 1;
  references(r);
  CHECK(r == 2);
  lambdas();
  return report();
}
