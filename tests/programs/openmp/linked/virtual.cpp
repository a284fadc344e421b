// Virtual functions, called in a region on an object of the host's, and where the virtual table is on the device.
#include <cstdio>
#include <omp.h>

#pragma omp begin declare target
namespace {
struct Shape {
  virtual int area() const { return 1; }
  virtual int edges() const { return 0; }
};
struct Square : Shape {
  int side;
  explicit Square(int its_side) : side(its_side) {}
  int area() const override { return side * side; }
  int edges() const override { return 4; }
};
} // namespace
#pragma omp end declare target

static void* table_of(const Shape& shape) {
  return *reinterpret_cast<void* const*>(&shape);
}

int main() {
  Square square(7);
  const Shape* const shape = &square;
  int area = 0, edges = 0;
  void* own = nullptr;
#pragma omp target map(to : square) map(from : area, edges, own)
  {
    Square made(1);
    const Shape* const there = &square;
    area = there->area();
    edges = there->edges();
    own = *reinterpret_cast<void**>(&made);
  }
  std::printf("%d %d %d\n", area, edges, own != table_of(*shape) && omp_get_mapped_ptr(table_of(*shape), 0) == own);
}
