/* Regions that a GPU cannot run, or that go wrong on it.
 *
 * Usage: faults CASE
 *
 * Prints where the last region ran and what it stored: "device 7" or "host 7". */
#include <omptarget.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
  TOFROM = OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF,
  ALLOC = OMP_TGT_MAPTYPE_FIRST_REF,
  VALUE = OMP_TGT_MAPTYPE_PRIVATE_VAL,
  TOO_MANY = 100000, /* threads of a team */
  NOWHERE = 16,
};

static void right(int64_t* place, int64_t value) { *place = value; }
static void fault(int64_t* place, int64_t value) { (void)place, (void)value; }
static void endless(int64_t* place, int64_t value) { (void)place, (void)value; }
OMPTARGET_KERNEL(right);
OMPTARGET_KERNEL(fault);
OMPTARGET_KERNEL(endless);

static int64_t place;

static int says(int on_host) {
  if (on_host)
    right(&place, 7);
  printf("%s %ld\n", on_host ? "host" : "device", (long)place);
  return 0;
}

/* The kernel on one object, which is `size` bytes large, or on an address as it is where that is 0. */
static int run(void* kernel, void* object, int64_t size, int type, int threads) {
  void* base[] = {object, (void*)7};
  void* begin[] = {size ? object : NULL, NULL};
  int64_t sizes[] = {size, 0};
  int32_t types[] = {size ? type : VALUE, VALUE};
  return __tgt_target_teams(OMPTARGET_DEVICE_DEFAULT, kernel, 2, base, begin, sizes, types, 1, threads) != 0;
}

static int run_later(void* kernel, void* address) {
  void* base[] = {address, (void*)7};
  void* begin[] = {NULL, NULL};
  int64_t sizes[] = {0, 0};
  int32_t types[] = {VALUE, VALUE};
  tgt_event_t event = NULL;
  if (__tgt_target_async(OMPTARGET_DEVICE_DEFAULT, kernel, 2, base, begin, sizes, types, 0, NULL, &event, NULL) != 0)
    return says(1);
  __tgt_release_dep(event);
  while (__tgt_process_dep())
    ;
  return says(0);
}

/* More than any device has; nobody touches it here. */
static int run_with_much_memory(void) {
  const int64_t size = INT64_C(1) << 42;
  void* const much = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return much == MAP_FAILED || run((void*)right, much, size, ALLOC, 1);
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "right") == 0)
    return says(run((void*)right, &place, sizeof place, TOFROM, 1));
  if (strcmp(what, "fault") == 0)
    return says(run((void*)fault, (void*)NOWHERE, 0, VALUE, 1));
  if (strcmp(what, "fault_later") == 0)
    return run_later((void*)fault, (void*)NOWHERE);
  if (strcmp(what, "endless") == 0)
    return says(run((void*)endless, &place, sizeof place, TOFROM, 1));
  if (strcmp(what, "threads") == 0)
    return says(run((void*)right, &place, sizeof place, TOFROM, TOO_MANY));
  if (strcmp(what, "memory") == 0)
    return says(run_with_much_memory());
  if (strcmp(what, "memory_then_right") == 0) {
    run_with_much_memory();
    return says(run((void*)right, &place, sizeof place, TOFROM, 1));
  }
  fprintf(stderr, "usage: faults right|fault|fault_later|endless|threads|memory|memory_then_right\n");
  return 2;
}
