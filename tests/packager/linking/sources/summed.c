// A region that calls a function of another object; with FACTOR it is another kernel, with SHARED it
// wants shared memory.
#ifdef SHARED
#pragma omp requires unified_shared_memory
#endif
#ifndef FACTOR
#define FACTOR 1
#endif

#pragma omp declare target
int scaled(int value);
#pragma omp end declare target

int summed(int n) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 1; i <= n; i++)
    sum += FACTOR * scaled(i);
  return sum;
}
