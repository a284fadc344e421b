/* The routines that libomptarget has, called on the host. */
#include "check.h"

void* llvm_omp_target_alloc_host(size_t, int);
void* llvm_omp_target_alloc_shared(size_t, int);
void* llvm_omp_target_alloc_device(size_t, int);
#if __clang_major__ >= 16
void llvm_omp_target_free_host(void*, int);
void llvm_omp_target_free_shared(void*, int);
void llvm_omp_target_free_device(void*, int);
#define FREE(kind) llvm_omp_target_free_##kind
#else
#define FREE(kind) omp_target_free
#endif

static void devices(void) {
  const int count = has_workers() ? 2 : 1;
  CHECK(omp_get_num_devices() == count);
  CHECK(omp_get_initial_device() == count);
  CHECK(omp_get_default_device() == 0);
#if __clang_major__ >= 15
  CHECK(omp_get_device_num() == count);
#endif
}

static void memory(void) {
  char* d = omp_target_alloc(100, 0);
  char h[100] = {0};
  const int host = omp_get_initial_device();
#if __clang_major__ >= 18
  CHECK(omp_target_memset(d, 'x', 100, 0) == d);
  CHECK(omp_target_memset(h, 'y', 100, host) == h && h[99] == 'y');
  CHECK(omp_target_memset(NULL, 0, 4, 0) == NULL);
#else
  memset(h, 'x', sizeof h);
  CHECK(omp_target_memcpy(d, h, 100, 0, 0, 0, host) == 0);
#endif
  CHECK(omp_target_memcpy(h, d, 50, 10, 0, host, 0) == 0);
  CHECK(h[10] == 'x' && h[59] == 'x');
  CHECK(omp_target_memcpy(NULL, d, 0, 0, 0, host, 0) == 0);
  CHECK(omp_target_memcpy(NULL, d, 5, 0, 0, host, 0) != 0);
  CHECK(omp_target_alloc(0, 0) == NULL);
  omp_target_free(d, 0);
  omp_target_free(NULL, 0);
}

static void by_both(int* memory) {
  CHECK((memory == NULL) == has_workers());
  if (memory == NULL)
    return;
  memory[0] = 1;
#pragma omp target is_device_ptr(memory)
  memory[0] += 1;
  CHECK(memory[0] == 2);
}

static void of_each_kind(void) {
  int* memory = llvm_omp_target_alloc_host(40, 0);
  by_both(memory);
  FREE(host)(memory, 0);
  memory = llvm_omp_target_alloc_shared(40, 0);
  by_both(memory);
  FREE(shared)(memory, 0);
  memory = llvm_omp_target_alloc_device(40, 0);
  CHECK(memory != NULL);
  FREE(device)(memory, 0);
}

static void rectangles(void) {
  int grid[4][5], *d = omp_target_alloc(sizeof grid, 0), out[4][5] = {{0}};
  for (int i = 0; i < 20; ++i)
    grid[i / 5][i % 5] = i;
  const size_t volume[] = {2, 3}, at[] = {1, 1}, zero[] = {0, 0}, size[] = {4, 5};
  const int host = omp_get_initial_device();
  CHECK(omp_target_memcpy_rect(d, grid, sizeof(int), 2, volume, zero, at, size, size, 0, host) == 0);
  CHECK(omp_target_memcpy_rect(out, d, sizeof(int), 2, volume, at, zero, size, size, host, 0) == 0);
  CHECK(out[1][1] == 6 && out[2][3] == 13 && out[0][0] == 0 && out[3][1] == 0);
  omp_target_free(d, 0);
}

int main(void) {
  devices();
  memory();
  of_each_kind();
  rectangles();
  return report();
}
