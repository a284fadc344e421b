/* Allocators with memory of the device, and copies that wait for what they depend on. */
#include "check.h"
#include <unistd.h>

static void allocators(void) {
  const omp_allocator_handle_t both[] = {llvm_omp_target_host_mem_alloc, llvm_omp_target_shared_mem_alloc};
  for (int i = 0; i < 2; ++i) {
    int* memory = omp_alloc(64, both[i]);
    CHECK((memory == NULL) == has_workers());
    if (memory == NULL)
      continue;
    memory[0] = 1;
#pragma omp target is_device_ptr(memory)
    memory[0] += 4;
    CHECK(memory[0] == 5);
    omp_free(memory, both[i]);
  }
  int *memory = omp_alloc(64, llvm_omp_target_device_mem_alloc), seen = 0;
  CHECK(memory != NULL);
#pragma omp target is_device_ptr(memory)
  memory[1] = 6;
  CHECK(omp_target_memcpy(&seen, memory, sizeof seen, 0, sizeof seen, omp_get_initial_device(), 0) == 0 && seen == 6);
  omp_free(memory, llvm_omp_target_device_mem_alloc);
}

#if __clang_major__ < 20 /* some of clang 20's names for traits and spaces are new */
static void traits(void) {
  omp_alloctrait_t wanted[] = {{omp_atk_pinned, omp_atv_true}, {omp_atk_alignment, 256}};
  omp_allocator_handle_t pinned = omp_init_allocator(omp_default_mem_space, 2, wanted);
  int* memory = omp_alloc(64, pinned);
  CHECK(memory != NULL && (uintptr_t)memory % 256 == 0);
#pragma omp target map(from : memory[0 : 16])
  memory[15] = 7;
  CHECK(memory[15] == 7);
  omp_free(memory, pinned);
  omp_destroy_allocator(pinned);
}
#endif

static void used_in_a_region(void) {
  int seen = 0, y = 3;
#pragma omp target uses_allocators(omp_default_mem_alloc) allocate(omp_default_mem_alloc : y) firstprivate(y)          \
    map(from : seen)
  seen = ++y;
  CHECK(seen == 4 && y == 3);
}

static void places(void) {
  int x[4] = {0};
  const int host = omp_get_initial_device();
#if __clang_major__ >= 16
  CHECK(omp_get_mapped_ptr(x, 0) == NULL && omp_get_mapped_ptr(NULL, 0) == NULL);
  CHECK(omp_get_mapped_ptr(x, host) == x && omp_get_mapped_ptr(x, 99) == NULL);
#endif
#pragma omp target data map(to : x)
  {
    void* there = NULL;
#pragma omp target map(from : there)
    there = &x[2];
#if __clang_major__ >= 16
    CHECK(omp_get_mapped_ptr(&x[2], 0) == there);
#endif
    CHECK(omp_target_is_present(&x[3], 0) && there != &x[2]);
  }
#if __clang_major__ >= 22
  CHECK(omp_target_is_accessible(x, sizeof x, host) && omp_target_is_accessible(x, 0, host));
  CHECK(!omp_target_is_accessible(NULL, 4, 0) && !omp_target_is_accessible(NULL, 4, host));
#endif
  (void)host;
}

#if __clang_major__ >= 18
static void later(void) {
  const int host = omp_get_initial_device();
  int h[6] = {0}, out[6] = {0}, *d = omp_target_alloc(sizeof h, 0);
  omp_depend_t filled = NULL, copied = NULL;
#pragma omp depobj(filled) depend(inout : h)
#pragma omp depobj(copied) depend(inout : out)
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(out : h) shared(h)
    {
      usleep(20000);
      for (int i = 0; i < 6; ++i)
        h[i] = i + 1;
    }
    CHECK(omp_target_memcpy_async(d, h, sizeof h, 0, 0, 0, host, 1, &filled) == 0);
    const size_t volume[] = {1, 2}, at[] = {1, 1}, size[] = {2, 3};
    omp_depend_t all[] = {filled, copied};
    CHECK(omp_target_memcpy_rect_async(out, d, sizeof(int), 2, volume, at, at, size, size, host, 0, 2, all) == 0);
#pragma omp taskwait
    CHECK(out[4] == 5 && out[5] == 6 && out[0] == 0 && out[3] == 0);
    CHECK(omp_target_memset_async(d, 0, 8, 0, 1, &copied) == d);
    CHECK(omp_target_memcpy_async(out, d, sizeof h, 0, 0, host, 0, 0, NULL) == 0);
#pragma omp taskwait
    CHECK(out[0] == 0 && out[1] == 0 && out[2] == 3);
  }
  CHECK(omp_target_memcpy_async(NULL, d, 4, 0, 0, host, 0, 0, NULL) != 0);
#pragma omp depobj(filled) destroy
#pragma omp depobj(copied) destroy
  omp_target_free(d, 0);
}
#endif

int main(void) {
  allocators();
#if __clang_major__ < 20
  traits();
#endif
  used_in_a_region();
  places();
#if __clang_major__ >= 18
  later();
#endif
  CHECK(omp_pause_resource(omp_pause_soft, 0) == 0);
  CHECK(omp_pause_resource(omp_pause_hard, 0) == 0);
  CHECK(omp_pause_resource(omp_pause_soft, 99) != 0);
  return report();
}
