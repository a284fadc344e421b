/* A pointer to mapped memory is taken for a device pointer, and holds the host's address. */
#include <stdlib.h>

int main(void) {
  char* block = calloc(1024, 1);
  int is_null = 0;
#pragma omp target data map(block[ : 1024])
  {
#pragma omp target is_device_ptr(block) map(from : is_null) /* OMP314 */
    is_null = block == NULL;
#pragma omp target data use_device_ptr(block)
#pragma omp target is_device_ptr(block) map(from : is_null)
    is_null |= block == NULL;
  }
  free(block);
  return is_null;
}
