/* Calls the device runtime as no flang does: with four arguments of a parallel region, then with five. */
#include <stdio.h>

#pragma omp begin declare target
void __kmpc_parallel_60(void* where, int gtid, int condition, int threads, int bind, void* body, void* wrapper,
                        void** arguments, long count, int strict);
int __kmpc_target_init(void* environment, void* launch);
static int sum;
static void body(int* gtid, int* bound_tid, int* a, int* b, int* c, int* d) {
  (void)gtid, (void)bound_tid;
  sum = *a + *b + *c + *d;
}
#pragma omp end declare target

int main(void) {
  for (long count = 4; count <= 5; ++count) {
    int seen = 0;
#pragma omp target map(from : seen)
    {
      int one = 1;
      void* arguments[5] = {&one, &one, &one, &one, &one};
      __kmpc_target_init(0, 0); /* its archive is linked for this name */
      __kmpc_parallel_60(0, 0, 1, 1, -1, (void*)body, 0, arguments, count, 0);
      seen = sum;
    }
    printf("%d arguments\n", seen);
    fflush(stdout);
  }
}
