/* A performance tool: prints what it hears about devices. With EMI it registers the callbacks of that
 * interface, which have begin and end, else the plain ones. */
#include <omp-tools.h>
#include <stdio.h>

#define YES(pointer) ((pointer) ? "given" : "none")

static void initialized(int device, const char* type, ompt_device_t* handle, ompt_function_lookup_t lookup,
                        const char* documentation) {
  printf("device %d initialized: type %s, handle %s, lookup %s\n", device, YES(type), YES(handle), YES(lookup));
  (void)documentation;
}
static void finalized(int device) {
  printf("device %d finalized\n", device);
}
static void loaded(int device, const char* file, int64_t offset, void* in_file, size_t size, void* host, void* there,
                   uint64_t module) {
  printf("device %d loaded an image: %s, bytes %s\n", device, YES(host), YES(size > 0));
  (void)file, (void)offset, (void)in_file, (void)there, (void)module;
}

#ifdef EMI
static uint64_t next = 100;

static void target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t* task,
                   ompt_data_t* target_task, ompt_data_t* data, const void* caller) {
  if (endpoint == ompt_scope_begin)
    data->value = next++;
  printf("target %lu: kind %d, endpoint %d, device %d, task %s, caller %s\n", data->value, kind, endpoint, device,
         YES(task), YES(caller));
  (void)target_task;
}
static void operation(ompt_scope_endpoint_t endpoint, ompt_data_t* target_task, ompt_data_t* data, ompt_id_t* id,
                      ompt_target_data_op_t what, void* from, int from_device, void* to, int to_device, size_t size,
                      const void* caller) {
  if (endpoint == ompt_scope_begin)
    *id = next++;
  printf("target %lu, operation %lu: %d, endpoint %d, %s@%d to %s@%d, %zu bytes, caller %s\n", data ? data->value : 0,
         *id, what, endpoint, YES(from), from_device, YES(to), to_device, size, YES(caller));
  (void)target_task;
}
static void submitted(ompt_scope_endpoint_t endpoint, ompt_data_t* data, ompt_id_t* id, unsigned teams) {
  if (endpoint == ompt_scope_begin)
    *id = next++;
  printf("target %lu, launch %lu: endpoint %d, %u teams\n", data->value, *id, endpoint, teams);
}
#define NAMED(callback) callback##_emi
#else
static void target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t* task, ompt_id_t id,
                   const void* caller) {
  printf("target: kind %d, endpoint %d, device %d, task %s, caller %s\n", kind, endpoint, device, YES(task),
         YES(caller));
  (void)id; /* LLVM counts regions alone */
}
static void operation(ompt_id_t target_id, ompt_id_t id, ompt_target_data_op_t what, void* from, int from_device,
                      void* to, int to_device, size_t size, const void* caller) {
  if (what == ompt_target_data_alloc) /* LLVM does not know yet where */
    to = NULL;
  printf("operation: %d, %s@%d to %s@%d, %zu bytes, caller %s\n", what, YES(from), from_device, YES(to), to_device,
         size, YES(caller));
  (void)target_id, (void)id;
}
static void submitted(ompt_id_t target_id, ompt_id_t id, unsigned teams) {
  printf("launch: %u teams\n", teams);
  (void)target_id, (void)id;
}
#define NAMED(callback) callback
#endif

static int start(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  set(ompt_callback_device_initialize, (ompt_callback_t)initialized);
  set(ompt_callback_device_finalize, (ompt_callback_t)finalized);
  set(ompt_callback_device_load, (ompt_callback_t)loaded);
  set(NAMED(ompt_callback_target), (ompt_callback_t)target);
  set(NAMED(ompt_callback_target_data_op), (ompt_callback_t)operation);
  set(NAMED(ompt_callback_target_submit), (ompt_callback_t)submitted);
  (void)device, (void)data;
  return 1;
}
static void stop(ompt_data_t* data) {
  printf("the tool ends\n");
  (void)data;
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt_start_tool_result_t result = {start, stop, {0}};
  (void)version, (void)runtime;
  return &result;
}
