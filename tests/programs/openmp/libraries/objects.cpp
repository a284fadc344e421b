/* Objects on the device, and a function that uses them. */
#include <cstdio>
struct Object {
  int value;
  explicit Object(int start) : value(start) {}
  ~Object() { std::printf("%d ", value); }
};
#pragma omp declare target
Object first(3);
Object second(first.value + 1);
#pragma omp end declare target
extern "C" int use() {
  int seen = 0;
#pragma omp target map(from : seen)
  { first.value += 10; second.value += 20; seen = first.value * 100 + second.value; }
  return seen;
}
