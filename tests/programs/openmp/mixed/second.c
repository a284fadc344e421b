/* The other object of two. */
void twice(int *x, int n);

void twice(int *x, int n) {
  float factor = 2;
#pragma omp target map(tofrom : x[0 : n])
  for (int i = 0; i < n; ++i)
    x[i] = (int)((float)x[i] * factor);
}
