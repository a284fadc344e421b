// Regions of C++: one that may fault, two of a template, and one for the device that FAR names.
namespace grid {
void heat(int* cell, bool faults) {
#pragma omp target map(tofrom : cell[ : 1])
  {
    int* volatile nothing = nullptr;
    cell[0] += faults ? *nothing : 1;
  }
}

template <typename T> T doubled(T value) {
#pragma omp target map(tofrom : value)
  value *= 2;
  return value;
}
} // namespace grid

#ifndef FAR
#define FAR 0
#endif

int main(int count, char**) {
  int cell = 0;
  grid::heat(&cell, count > 1);
#pragma omp target device(FAR) map(tofrom : cell)
  cell += 1;
  return grid::doubled(cell) + grid::doubled(cell * 1L) == 8 ? 0 : 1;
}
