/* Times a launch on OpenCL's first device by our runtime, and by the driver's own calls, in turn;
 * bench/opencl_launch.py compiles and runs this program.
 *
 * Usage: opencl SPIRV LAUNCHES BATCHES
 *
 * Prints "ours NANOSECONDS" and "bare NANOSECONDS" of one launch and the wait for it, medians of the batches. */
#include "timing.h"

#include <omptarget.h>
#include <stdio.h>
#include <stdlib.h>

/* Of OpenCL 2.1, as the Khronos Group's headers declare it. */
typedef void* handle;
extern int32_t clGetPlatformIDs(uint32_t, handle*, uint32_t*);
extern int32_t clGetDeviceIDs(handle, uint64_t, uint32_t, handle*, uint32_t*);
extern handle clCreateContext(const intptr_t*, uint32_t, const handle*, void*, void*, int32_t*);
extern handle clCreateCommandQueue(handle, handle, uint64_t, int32_t*);
extern handle clCreateProgramWithIL(handle, const void*, size_t, int32_t*);
extern int32_t clBuildProgram(handle, uint32_t, const handle*, const char*, void*, void*);
extern handle clCreateKernel(handle, const char*, int32_t*);
extern int32_t clSetKernelArg(handle, uint32_t, size_t, const void*);
extern int32_t clSetKernelExecInfo(handle, uint32_t, size_t, const void*);
extern int32_t clEnqueueNDRangeKernel(handle, handle, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,
                                      const handle*, handle*);
extern int32_t clWaitForEvents(uint32_t, const handle*);
extern int32_t clReleaseEvent(handle);
enum { INDIRECT_HOST_ACCESS = 0x4200 };

static void nothing(int64_t* place, int64_t value) {
  *place = value;
}
OMPTARGET_KERNEL(nothing);

static int64_t place;

static void launch_ours(void) {
  void* base[] = {&place, (void*)7};
  void* begin[] = {NULL, NULL};
  int64_t size[] = {0, 0};
  int32_t type[] = {OMP_TGT_MAPTYPE_PRIVATE_VAL, OMP_TGT_MAPTYPE_PRIVATE_VAL};
  if (__tgt_target_teams(OMPTARGET_DEVICE_DEFAULT, (void*)nothing, 2, base, begin, size, type, 1, 1) != 0)
    exit(4);
}

static handle queue, kernel;

static void need(int is_there) {
  if (!is_there)
    exit(5);
}

static void prepare_bare(const char* path) {
  static char module[1 << 20];
  FILE* const file = fopen(path, "rb");
  need(file != NULL);
  const size_t length = fread(module, 1, sizeof module, file);
  fclose(file);
  handle platform = NULL, device = NULL;
  int32_t error = 0;
  need(clGetPlatformIDs(1, &platform, NULL) == 0);
  need(clGetDeviceIDs(platform, 0xFFFFFFFF, 1, &device, NULL) == 0);
  handle const context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  queue = clCreateCommandQueue(context, device, 0, &error);
  handle const program = clCreateProgramWithIL(context, module, length, &error);
  need(error == 0 && clBuildProgram(program, 1, &device, "", NULL, NULL) == 0);
  kernel = clCreateKernel(program, "nothing", &error);
  need(kernel != NULL);
  const uint32_t yes = 1;
  need(clSetKernelExecInfo(kernel, INDIRECT_HOST_ACCESS, sizeof yes, &yes) == 0);
}

static void launch_bare(void) {
  const size_t one = 1;
  const int64_t arguments[] = {(int64_t)&place, 7};
  handle event = NULL;
  for (uint32_t i = 0; i < 2; ++i)
    need(clSetKernelArg(kernel, i, sizeof arguments[i], &arguments[i]) == 0);
  need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &event) == 0);
  need(clWaitForEvents(1, &event) == 0);
  clReleaseEvent(event);
}

static double timed(void (*launch)(void), long launches) {
  const double begin = now();
  for (long i = 0; i < launches; ++i)
    launch();
  return (now() - begin) / (double)launches;
}

int main(int argc, char** argv) {
  if (argc != 4)
    return 1;
  const long launches = atol(argv[2]), batches = atol(argv[3]);
  double* const ours = calloc((size_t)batches, sizeof *ours);
  double* const bare = calloc((size_t)batches, sizeof *bare);
  if (batches < 1 || !ours || !bare)
    return 1;
  prepare_bare(argv[1]);
  timed(launch_ours, launches);
  timed(launch_bare, launches);
  for (long i = 0; i < batches; ++i) {
    ours[i] = timed(launch_ours, launches);
    bare[i] = timed(launch_bare, launches);
  }
  qsort(ours, (size_t)batches, sizeof *ours, ascending);
  qsort(bare, (size_t)batches, sizeof *bare, ascending);
  printf("ours %.1f\nbare %.1f\n", ours[batches / 2], bare[batches / 2]);
  return 0;
}
