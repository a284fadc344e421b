/* What the driver's own calls cost for what constructs.c does, on the first GPU.
 *
 * Usage: bare [few]
 *
 * It opens libcuda.so.1 at run time and loads bare.ptx beside it. Prints as constructs.c does; `copy` is the device's
 * own, its bytes counted once for each direction. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int result;
typedef unsigned long long address;
typedef void* handle;
enum { BATCHES = 11, SMALL = 64 };

static int launches = 2000, rounds = 5;
static size_t large = (size_t)1 << 30;
static handle library, stream;
static address place;
static char small[SMALL];

static void need(result got, const char* call) {
  if (got == 0)
    return;
  fprintf(stderr, "%s: %d\n", call, got);
  exit(1);
}

static handle found(const char* name) {
  handle const function = dlsym(library, name);
  need(function == NULL, name);
  return function;
}
/* A call of the driver's, by the types of its parameters. */
#define CUDA(name, types, ...) need(((result(*) types)functions[name])(__VA_ARGS__), names[name])

enum call {
  INIT, DEVICE, RETAIN, CURRENT, STREAM, MODULE, FUNCTION, LAUNCH, WAIT, TO_LATER, FROM_LATER, TO, FROM, WITHIN, TAKE,
  GIVE, LOCKED, UNLOCKED, CALLS
};
static const char* const names[CALLS] = {
    "cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate", "cuModuleLoadDataEx",
    "cuModuleGetFunction", "cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoDAsync_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc",
    "cuMemFreeHost"};
static handle functions[CALLS];
static handle nothing, one;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

static void start(handle function, void** arguments) {
  CUDA(LAUNCH, (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void**, void**),
       function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

static void launch(void) {
  start(nothing, NULL);
  CUDA(WAIT, (handle), stream);
}

/* In memory that is there. */
static void map(void) {
  void* arguments[] = {&place};
  CUDA(TO_LATER, (address, const void*, size_t, handle), place, small, sizeof small, stream);
  start(one, arguments);
  CUDA(FROM_LATER, (void*, address, size_t, handle), small, place, sizeof small, stream);
  CUDA(WAIT, (handle), stream);
}

static void show_time(const char* name, void (*construct)(void)) {
  double times[BATCHES];
  for (int batch = -1; batch < BATCHES; ++batch) {
    const double begin = now();
    for (int i = 0; i < launches; ++i)
      construct();
    if (batch >= 0)
      times[batch] = (now() - begin) / launches * 1e9;
  }
  printf("%s %.1f\n", name, median(times, BATCHES));
}

static void show_transfers(const char* kind, void* host, address device) {
  double to[BATCHES], from[BATCHES];
  memset(host, 5, large);
  for (int round = -1; round < rounds; ++round) {
    const double begin = now();
    CUDA(TO, (address, const void*, size_t), device, host, large);
    const double between = now();
    CUDA(FROM, (void*, address, size_t), host, device, large);
    if (round < 0)
      continue;
    to[round] = (double)large / (between - begin) / 1e9;
    from[round] = (double)large / (now() - between) / 1e9;
  }
  printf("to-%s %.3f\nfrom-%s %.3f\n", kind, median(to, rounds), kind, median(from, rounds));
}

static void show_copy(address from, address to) {
  double speeds[BATCHES];
  for (int batch = -1; batch < BATCHES; ++batch) {
    const double begin = now();
    CUDA(WITHIN, (address, address, size_t, handle), to, from, large, stream);
    CUDA(WAIT, (handle), stream);
    if (batch >= 0)
      speeds[batch] = 2e-9 * (double)large / (now() - begin);
  }
  printf("copy %.3f\n", median(speeds, BATCHES));
}

static void prepare(const char* self) {
  static char path[4096], image[1 << 20];
  const char* const end = strrchr(self, '/');
  snprintf(path, sizeof path, "%.*sbare.ptx", end ? (int)(end + 1 - self) : 0, self);
  FILE* const file = fopen(path, "rb");
  need(file == NULL, path);
  image[fread(image, 1, sizeof image - 1, file)] = 0;
  fclose(file);
  library = dlopen("libcuda.so.1", RTLD_NOW);
  need(library == NULL, "libcuda.so.1");
  for (int i = 0; i < CALLS; ++i)
    functions[i] = found(names[i]);
  int device = 0;
  handle context = NULL, module = NULL;
  CUDA(INIT, (unsigned), 0);
  CUDA(DEVICE, (int*, int), &device, 0);
  CUDA(RETAIN, (handle*, int), &context, device);
  CUDA(CURRENT, (handle), context);
  CUDA(STREAM, (handle*, unsigned), &stream, 1);
  CUDA(MODULE, (handle*, const void*, unsigned, void*, void*), &module, image, 0, NULL, NULL);
  CUDA(FUNCTION, (handle*, handle, const char*), &nothing, module, "nothing");
  CUDA(FUNCTION, (handle*, handle, const char*), &one, module, "one");
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "few") == 0) {
    launches = rounds = 1;
    large = (size_t)1 << 20;
  }
  prepare(argv[0]);
  address first = 0, second = 0;
  CUDA(TAKE, (address*, size_t), &place, sizeof small);
  CUDA(TAKE, (address*, size_t), &first, large);
  CUDA(TAKE, (address*, size_t), &second, large);
  void *const pageable = malloc(large), *locked = NULL;
  need(pageable == NULL, "malloc");
  CUDA(LOCKED, (void**, size_t, unsigned), &locked, large, 0);
  show_time("launch", launch);
  show_time("map", map);
  show_transfers("pageable", pageable, first);
  show_transfers("locked", locked, first);
  show_copy(first, second);
  return 0;
}
