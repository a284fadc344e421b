// Regions of functions with parameters, one of them a template.
namespace grid {
template <typename T> void heat(T* a, int n) {
#pragma omp target map(tofrom : a[0 : n])
  for (int i = 0; i < n; ++i)
    a[i] *= 2;
}
} // namespace grid

void work(double* a, int n) {
#pragma omp target map(tofrom : a[0 : n]) // first
  a[0] += 1;
#pragma omp target map(tofrom : a[0 : n])
  for (int i = 0; i < n; ++i)
    a[i] = a[i] / 3 + i;
}

int main() {
  double a[10] = {};
  grid::heat(a, 10);
  work(a, 10);
  return 0;
}
