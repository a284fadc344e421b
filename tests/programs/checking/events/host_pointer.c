/* A region maps a pointer itself, and gets the host's address of memory that is mapped. */
#include <stdlib.h>

int main(void) {
  char* block = calloc(1024, 1);
  int is_null = 0;
#pragma omp target data map(block[ : 1024])
  {
#pragma omp target map(block) map(from : is_null) /* OMP314 */
    is_null = block == NULL;
  }
  free(block);
  return is_null;
}
