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

// What a class has from its base is part of it.
struct Base {
  int first;
  double* values;
  virtual int kind() const { return 1; }
};

struct Derived : Base {
  int second;
  int* numbers;
  int count;
  int kind() const override { return first + second; }
};

// Clang 14 takes the last of these parts for the first.
struct Pair {
  int* own;
  int second;
};
struct Owner : Pair {
  int last[4];
  void run(int* numbers) {
    own = numbers;
    second = 8;
    last[2] = 3;
#pragma omp target map(tofrom : own[0 : 4], second, last[1 : 2])
    {
      own[3] += second;
      second = 2;
      last[2] += 5;
    }
    CHECK(numbers[3] == 12 && second == 2 && last[2] == 8);
    second = 9;
#pragma omp target enter data map(to : this[0 : 1], own[0 : 4])
#pragma omp target
    {
      own[3] += second;
      last[2] = own[3];
    }
#pragma omp target update from(last[2 : 1])
    CHECK(last[2] == 21);
#pragma omp target exit data map(from : own[0 : 4]) map(release : this[0 : 1])
    CHECK(numbers[3] == 21 && own == numbers);
    CHECK(!omp_target_is_present(this, 0) && !omp_target_is_present(numbers, 0));
  }
};

static void parts_of_a_base() {
  Derived d;
  d.first = 5;
  d.second = 7;
  d.count = 4;
  d.values = new double[2]{1.5, 2.5};
  d.numbers = new int[4]{1, 2, 3, 4};
  double seen = 0;
#pragma omp target map(tofrom : d.numbers[0 : d.count], d.values[0 : 2], d.second) map(to : d.first) map(from : seen)
  {
    d.numbers[0] = d.first + d.second;
    d.values[1] *= 2;
    seen = d.values[0];
  }
  CHECK(d.numbers[0] == 12 && d.values[1] == 5 && seen == 1.5);
  int kind = 0;
#pragma omp target map(from : kind)
  {
    Derived own;
    own.first = 1;
    own.second = 2;
    const Base* base = &own;
    kind = base->kind();
  }
  CHECK(kind == 3);
}

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
  parts_of_a_base();
  int numbers[4] = {1, 2, 3, 4};
  Owner().run(numbers);
  return report();
}
