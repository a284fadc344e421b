/* Every kind of construct, for LIBOMPTARGET_INFO. */
#include <stdlib.h>

void __tgt_set_info_flag(unsigned);
void ompx_dump_mapping_tables(void);

static int table[4];
#pragma omp declare target to(table)
static struct {
  int n;
  int* p;
} s;

static void constructs(void) {
  int x[10] = {0}, y[20] = {0}, n = 3;
#pragma omp target data map(to : y) map(from : x)
  {
#pragma omp target map(tofrom : x) firstprivate(n)
    x[0] = y[0] + n;
#pragma omp target update to(y)
#pragma omp target update from(y[2 : 3])
#pragma omp target nowait map(x)
    x[1]++;
#pragma omp taskwait
    ompx_dump_mapping_tables();
  }
#pragma omp target enter data map(always, to : table) map(to : x[0 : 2])
#pragma omp target
  x[1] = table[1];
#pragma omp target exit data map(delete : x)
#pragma omp target exit data map(from : y)
#pragma omp target exit data map(delete : x[0 : 2])
}

static void pointers(void) {
  int x[4], *p = calloc(10, sizeof(int)), *q = NULL;
#pragma omp target map(tofrom : p[0 : 10])
  p[1] = 2;
  s.p = p;
#pragma omp target map(tofrom : s.p[0 : 5], s.n)
  s.p[1] = s.n;
#pragma omp target map(p[0 : 0])
  q = p;
#pragma omp target data use_device_ptr(q) use_device_addr(x)
  ;
  free(p);
}

int main(void) {
  constructs();
  pointers();
  __tgt_set_info_flag(1);
#pragma omp target enter data map(to : table)
  return 0;
}
