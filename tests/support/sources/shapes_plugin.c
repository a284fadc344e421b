/* The host plugin, for tests: says the shape of each launch on stderr, and runs the kernel once.
 *
 *   cc -shared -fPIC -DHOST_PLUGIN='"…/libomptarget.rtl.host.so"' shapes_plugin.c -o libomptarget.rtl.shapes.so
 */
#include <dlfcn.h>
#include <omptarget_rtl.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ARGUMENTS = 16 };

static void* host_function(const char* name) {
  void* const plugin = dlopen(HOST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  void* const found = plugin ? dlsym(plugin, name) : NULL;
  if (!found)
    abort();
  return found;
}

#define HOST(name) ((__typeof__(&name))host_function(#name))

int32_t __tgt_rtl_number_of_devices(void) { return HOST(__tgt_rtl_number_of_devices)(); }
int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) { return HOST(__tgt_rtl_is_valid_binary)(image); }
int32_t __tgt_init_device(int32_t device) { return HOST(__tgt_init_device)(device); }
tgt_target_table* __tgt_rtl_load_binary(int32_t device, __tgt_device_image* image) {
  return HOST(__tgt_rtl_load_binary)(device, image);
}
void* __tgt_rtl_data_alloc(int32_t device, int64_t size) { return HOST(__tgt_rtl_data_alloc)(device, size); }
int32_t __tgt_rtl_data_submit(int32_t device, void* target, void* host, int64_t size) {
  return HOST(__tgt_rtl_data_submit)(device, target, host, size);
}
int32_t __tgt_rtl_data_retrieve(int32_t device, void* host, void* target, int64_t size) {
  return HOST(__tgt_rtl_data_retrieve)(device, host, target, size);
}
int32_t __tgt_rtl_data_delete(int32_t device, void* target) { return HOST(__tgt_rtl_data_delete)(device, target); }
int32_t __tgt_rtl_run_target_region(int32_t device, void* entry, void** arguments, int32_t count) {
  fputs("no shape\n", stderr);
  return HOST(__tgt_rtl_run_target_region)(device, entry, arguments, count);
}
int32_t __tgt_rtl_run_target_team_region(int32_t device, void* entry, void** arguments, int32_t count, int32_t teams,
                                         int32_t threads) {
  fputs("no shape\n", stderr);
  return HOST(__tgt_rtl_run_target_team_region)(device, entry, arguments, count, teams, threads);
}
int32_t __tgt_rtl_run_shaped(int32_t device, void* entry, void** arguments, int32_t count,
                             const tgt_launch_shape* shape) {
  fprintf(stderr, "teams %u %u %u threads %u %u %u trip %llu memory %llu\n", shape->teams[0], shape->teams[1],
          shape->teams[2], shape->threads[0], shape->threads[1], shape->threads[2],
          (unsigned long long)shape->trip_count, (unsigned long long)shape->dynamic_memory);
  if (!(shape->flags & OMPTARGET_SHAPE_ENVIRONMENT_LAST))
    return HOST(__tgt_rtl_run_target_region)(device, entry, arguments, count);
  /* The core takes this for a GPU, and clang 23's kernels for a CPU have one argument: where the others are. */
  void* places[MOST_ARGUMENTS];
  if (count > MOST_ARGUMENTS)
    abort();
  for (int32_t i = 0; i < count; ++i)
    places[i] = &arguments[i];
  void* only = places;
  return HOST(__tgt_rtl_run_target_region)(device, entry, &only, 1);
}
