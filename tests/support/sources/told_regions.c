// Linked into a program with -Wl,--wrap=NAME for each function here: it tells on stderr, which a log of the driver
// shares, what its regions pass to the runtime; and its memory lies at the same addresses beside any runtime.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char __executable_start, _end, **environ;

// In one call, so that no line is torn.
static void tell(const char* line, size_t length) {
  if (write(STDERR_FILENO, line, length) != (ssize_t)length)
    _exit(9);
}

__attribute__((constructor(101))) static void begin(void) {
  char line[128];
  const int length = snprintf(line, sizeof line, "# program %p %p stack %p\n", (void*)&__executable_start, (void*)&_end,
                              (void*)environ);
  tell(line, (size_t)length);
}

// As clang 19 passes it.
struct launch {
  uint32_t version, count;
  void **bases, **begins;
  int64_t *sizes, *types;
};
int __real___tgt_target_kernel(void* where, int64_t device, int32_t teams, int32_t threads, void* host,
                               struct launch* launch);

// The parameters' base, beginning, size and type.
int __wrap___tgt_target_kernel(void* where, int64_t device, int32_t teams, int32_t threads, void* host,
                               struct launch* launch) {
  enum { PARAMETER = 0x20, EACH = 80 };
  const size_t room = 32 + (size_t)launch->count * EACH;
  char* const line = malloc(room);
  size_t length = (size_t)snprintf(line, room, "# region");
  for (uint32_t i = 0; i < launch->count; ++i)
    if (launch->types[i] & PARAMETER)
      length += (size_t)snprintf(line + length, room - length, " %llx:%llx:%lld:%llx",
                                 (unsigned long long)(uintptr_t)launch->bases[i],
                                 (unsigned long long)(uintptr_t)launch->begins[i], (long long)launch->sizes[i],
                                 (unsigned long long)launch->types[i]);
  line[length++] = '\n';
  tell(line, length);
  free(line);
  return __real___tgt_target_kernel(where, device, teams, threads, host, launch);
}

// What the program takes of the runtime's memory.
static void* told(void* memory, size_t size) {
  char line[64];
  tell(line, (size_t)snprintf(line, sizeof line, "# memory %p %zu\n", memory, size));
  return memory;
}
#define OF_THE_RUNTIME(name, type)                                                                                     \
  void* __real_##name(size_t size, type where);                                                                        \
  void* __wrap_##name(size_t size, type where) {                                                                       \
    return told(__real_##name(size, where), size);                                                                     \
  }
OF_THE_RUNTIME(omp_target_alloc, int)
OF_THE_RUNTIME(llvm_omp_target_alloc_host, int)
OF_THE_RUNTIME(llvm_omp_target_alloc_shared, int)
OF_THE_RUNTIME(llvm_omp_target_alloc_device, int)
OF_THE_RUNTIME(omp_alloc, uintptr_t)

// The program's own. None is used twice.
static char room[64 << 20] __attribute__((aligned(4096)));
static size_t used;

static void* take(size_t size, size_t alignment) {
  const size_t at = (__atomic_fetch_add(&used, size + 2 * alignment, __ATOMIC_RELAXED) + alignment) & -alignment;
  if (at > sizeof room || size > sizeof room - at)
    _exit(9);
  return room + at;
}
void* __wrap_malloc(size_t size) {
  return take(size, 16);
}
void* __wrap_calloc(size_t count, size_t size) {
  return take(count * size, 16);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return take(size, alignment);
}
void* __wrap__Znwm(size_t size) {
  return take(size, 16);
}
void* __wrap__Znam(size_t size) {
  return take(size, 16);
}

void __real_free(void* memory);
void __wrap_free(void* memory) {
  if ((uintptr_t)memory - (uintptr_t)room >= sizeof room)
    __real_free(memory);
}
void __wrap__ZdlPvm(void* memory, size_t size) {
  (void)memory, (void)size;
}
void __wrap__ZdaPv(void* memory) {
  (void)memory;
}
