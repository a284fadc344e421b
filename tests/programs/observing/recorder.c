/* A tool of OMPT that records what it hears of devices: a line for each event, in the file that RECORD names. It sets
 * the callbacks whose names are in RECORD_CALLBACKS, by commas; without the variable all those that have begin and end.
 * With RECORD_TRACE it also starts a trace of each device, with buffers of so many bytes, and records what they hold.
 * RECORD_START is how many milliseconds it takes to start.
 * Addresses are as they are: who compares two records numbers them in the order in which they appear. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <omp-tools.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE* file;
static uint64_t next_id = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((format(printf, 1, 2))) static void record(const char* format, ...) {
  va_list values;
  va_start(values, format);
  pthread_mutex_lock(&lock);
  vfprintf(file, format, values);
  fflush(file);
  pthread_mutex_unlock(&lock);
  va_end(values);
}

static uint64_t fresh_id(void) {
  return __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
}

/* Where a code address lies: in the program, in a library, or nowhere. */
static const char* place_of(const void* code) {
  static char program[4096];
  Dl_info info;
  if (!code)
    return "none";
  if (!dladdr(code, &info) || !info.dli_fname)
    return "unknown";
  if (!*program) {
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = '\0';
  }
  char* const real = realpath(info.dli_fname, NULL);
  const int is_program = real && strcmp(real, program) == 0;
  free(real);
  if (is_program)
    return "program";
  const char* const name = strrchr(info.dli_fname, '/');
  return name ? name + 1 : info.dli_fname;
}

/* ---- traces of devices ---- */

static ompt_start_trace_t start_trace;
static ompt_flush_trace_t flush_trace;
static ompt_stop_trace_t stop_trace;
static ompt_advance_buffer_cursor_t advance;
static ompt_get_record_type_t type_of;
static ompt_get_record_ompt_t record_at;
static ompt_translate_time_t translate;
static ompt_device_t* devices[16];

static void give_buffer(int device, ompt_buffer_t** buffer, size_t* size) {
  *size = (size_t)atoi(getenv("RECORD_TRACE"));
  *buffer = malloc(*size);
  (void)device;
}

static void record_traced(int device, const ompt_record_ompt_t* one) {
  const char* const order =
      one->type == ompt_callback_target || one->time <= one->record.target_data_op.end_time ||
              (one->type == ompt_callback_target_submit && one->time <= one->record.target_kernel.end_time)
          ? "right"
          : "wrong";
  const int is_now = translate(devices[device], one->time) > 1e9; /* seconds since 1970, or since the machine began */
  if (one->type == ompt_callback_target)
    record("traced target device=%d kind=%d endpoint=%d target=%llu time=%d code=%s\n", device, one->record.target.kind,
           one->record.target.endpoint, (unsigned long long)one->target_id, is_now,
           place_of(one->record.target.codeptr_ra));
  else if (one->type == ompt_callback_target_submit)
    record("traced submit device=%d target=%llu id=%llu teams=%u order=%s\n", device,
           (unsigned long long)one->target_id, (unsigned long long)one->record.target_kernel.host_op_id,
           one->record.target_kernel.requested_num_teams, order);
  else
    record("traced data_op device=%d target=%llu id=%llu op=%d from=%p to=%p size=%zu order=%s\n", device,
           (unsigned long long)one->target_id, (unsigned long long)one->record.target_data_op.host_op_id,
           one->record.target_data_op.optype, one->record.target_data_op.src_addr, one->record.target_data_op.dest_addr,
           one->record.target_data_op.bytes, order);
}

static void take_buffer(int device, ompt_buffer_t* buffer, size_t size, ompt_buffer_cursor_t begin, int is_owned) {
  ompt_buffer_cursor_t at = begin;
  int more = size > 0;
  record("buffer device=%d empty=%d owned=%d\n", device, size == 0, is_owned);
  for (; more; more = advance(devices[device], buffer, size, at, &at))
    if (type_of(buffer, at) == ompt_record_ompt)
      record_traced(device, record_at(buffer, at));
  free(buffer);
}

static void trace(int device, ompt_device_t* handle, ompt_function_lookup_t lookup) {
  const ompt_set_trace_ompt_t set = (ompt_set_trace_ompt_t)lookup("ompt_set_trace_ompt");
  start_trace = (ompt_start_trace_t)lookup("ompt_start_trace");
  flush_trace = (ompt_flush_trace_t)lookup("ompt_flush_trace");
  stop_trace = (ompt_stop_trace_t)lookup("ompt_stop_trace");
  advance = (ompt_advance_buffer_cursor_t)lookup("ompt_advance_buffer_cursor");
  type_of = (ompt_get_record_type_t)lookup("ompt_get_record_type");
  record_at = (ompt_get_record_ompt_t)lookup("ompt_get_record_ompt");
  translate = (ompt_translate_time_t)lookup("ompt_translate_time");
  devices[device] = handle;
  record("set_trace all=%d mutex=%d\n", set(handle, 1, 0), set(handle, 1, ompt_callback_mutex_acquire));
  record("start_trace=%d\n", start_trace(handle, give_buffer, take_buffer));
}

/* ---- callbacks ---- */

static void on_device_initialize(int device, const char* type, ompt_device_t* handle, ompt_function_lookup_t lookup,
                                 const char* documentation) {
  record("device_initialize device=%d handle=%d lookup=%d type=%s\n", device, handle != NULL, lookup != NULL,
         type ? type : "none");
  if (getenv("RECORD_TRACE"))
    trace(device, handle, lookup);
  (void)documentation;
}

static void on_device_finalize(int device) {
  record("device_finalize device=%d\n", device);
  if (devices[device])
    record("flush_trace=%d\n", flush_trace(devices[device]));
  if (devices[device])
    record("stop_trace=%d\n", stop_trace(devices[device]));
}

static void on_device_load(int device, const char* path, int64_t offset, void* in_file, size_t size, void* host,
                           void* there, uint64_t module) {
  record("device_load device=%d path=%s offset=%lld in_file=%d size=%d host=%d there=%d module=%llu\n", device,
         path ? path : "none", (long long)offset, in_file != NULL, size > 0, host != NULL, there != NULL,
         (unsigned long long)module);
}

static void on_device_unload(int device, uint64_t module) {
  record("device_unload device=%d module=%llu\n", device, (unsigned long long)module);
}

static void on_target_emi(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t* task,
                          ompt_data_t* target_task, ompt_data_t* target, const void* code) {
  if (endpoint == ompt_scope_begin)
    target->value = fresh_id();
  record("target kind=%d endpoint=%d device=%d task=%d target_task=%d target=%llu code=%s\n", kind, endpoint, device,
         task != NULL, target_task != NULL, (unsigned long long)target->value, place_of(code));
}

static void on_target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t* task, ompt_id_t id,
                      const void* code) {
  record("target kind=%d endpoint=%d device=%d task=%d target=%llu code=%s\n", kind, endpoint, device, task != NULL,
         (unsigned long long)id, place_of(code));
}

static void on_target_data_op_emi(ompt_scope_endpoint_t endpoint, ompt_data_t* target_task, ompt_data_t* target,
                                  ompt_id_t* id, ompt_target_data_op_t operation, void* from, int from_device, void* to,
                                  int to_device, size_t size, const void* code) {
  if (endpoint == ompt_scope_begin)
    *id = fresh_id();
  record("data_op endpoint=%d target=%lld id=%llu op=%d from=%p@%d to=%p@%d size=%zu code=%s\n", endpoint,
         target ? (long long)target->value : -1, (unsigned long long)*id, operation, from, from_device, to, to_device,
         size, place_of(code));
  (void)target_task;
}

static void on_target_data_op(ompt_id_t target, ompt_id_t id, ompt_target_data_op_t operation, void* from,
                              int from_device, void* to, int to_device, size_t size, const void* code) {
  record("data_op target=%llu id=%d op=%d from=%p@%d to=%p@%d size=%zu code=%s\n", (unsigned long long)target, id != 0,
         operation, from, from_device, to, to_device, size, place_of(code));
}

static void on_target_submit_emi(ompt_scope_endpoint_t endpoint, ompt_data_t* target, ompt_id_t* id, unsigned teams) {
  if (endpoint == ompt_scope_begin)
    *id = fresh_id();
  record("submit endpoint=%d target=%lld id=%llu teams=%u\n", endpoint, target ? (long long)target->value : -1,
         (unsigned long long)*id, teams);
}

static void on_target_submit(ompt_id_t target, ompt_id_t id, unsigned teams) {
  record("submit target=%llu id=%d teams=%u\n", (unsigned long long)target, id != 0, teams);
}

static void record_rows(uint64_t target, unsigned count, void** host, void** there, size_t* size, unsigned* flags,
                        const void* code) {
  for (unsigned i = 0; i < count; ++i)
    record("map target=%llu row=%u/%u host=%p there=%p size=%zu flags=%#x code=%s\n", (unsigned long long)target, i,
           count, host[i], there[i], size[i], flags[i], place_of(code));
}

static void on_target_map_emi(ompt_data_t* target, unsigned count, void** host, void** there, size_t* size,
                              unsigned* flags, const void* code) {
  record_rows(target->value, count, host, there, size, flags, code);
}

static void on_target_map(ompt_id_t target, unsigned count, void** host, void** there, size_t* size, unsigned* flags,
                          const void* code) {
  record_rows(target, count, host, there, size, flags, code);
}

struct Callback {
  const char* name;
  ompt_callbacks_t event;
  ompt_callback_t function;
  int has_begin_and_end; /* or needs none */
};

#define CALLBACK(name, both) {#name, ompt_callback_##name, (ompt_callback_t)on_##name, both}
static const struct Callback callbacks[] = {
    CALLBACK(device_initialize, 1), CALLBACK(device_finalize, 1), CALLBACK(device_load, 1),
    CALLBACK(device_unload, 1),     CALLBACK(target_emi, 1),      CALLBACK(target_data_op_emi, 1),
    CALLBACK(target_submit_emi, 1), CALLBACK(target_map_emi, 1),  CALLBACK(target, 0),
    CALLBACK(target_data_op, 0),    CALLBACK(target_submit, 0),   CALLBACK(target_map, 0),
};

static int is_wanted(const struct Callback* callback) {
  const char* at = getenv("RECORD_CALLBACKS");
  const size_t size = strlen(callback->name);
  if (!at)
    return callback->has_begin_and_end;
  for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, callback->name, size) == 0 && (at[size] == ',' || at[size] == '\0'))
      return 1;
  return 0;
}

static int initialize(ompt_function_lookup_t lookup, int initial_device, ompt_data_t* data) {
  const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  record("tool initial_device=%d\n", initial_device);
  if (getenv("RECORD_START"))
    usleep((useconds_t)atoi(getenv("RECORD_START")) * 1000);
  for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; ++i)
    if (is_wanted(&callbacks[i]))
      record("set %s: %d\n", callbacks[i].name, set(callbacks[i].event, callbacks[i].function));
  (void)data;
  return 1;
}

static void finalize(ompt_data_t* data) {
  record("end\n");
  (void)data;
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  const char* const path = getenv("RECORD");
  file = path ? fopen(path, "a") : NULL;
  if (!file)
    return NULL;
  record("start version=%u runtime=%d\n", version, runtime != NULL);
  return &result;
}
