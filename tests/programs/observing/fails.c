/* Asks a device for more memory than any machine has. */
#include <omp.h>
#include <stddef.h>

int main(void) {
  return omp_target_alloc((size_t)1 << 46, 0) != NULL;
}
