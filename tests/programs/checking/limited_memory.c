/* Correct copies: `always` of objects that are new, more at once than the checker has guarded memory for. */
#include "../openmp/check.h"

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  const size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 128;
  char* const all = calloc(count, size);
  for (int i = 0; i < count; ++i) {
    char* const one = all + (size_t)i * size;
#pragma omp target enter data map(always, to : one[0 : size])
  }
#pragma omp target
  ;
  for (int i = 0; i < count; ++i) {
    char* const one = all + (size_t)i * size;
#pragma omp target exit data map(release : one[0 : size])
  }
  free(all);
  return report();
}
