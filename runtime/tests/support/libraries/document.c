/* A host written from the interface's document alone: its own declarations, and no version. */
#include <stdint.h>

typedef struct __tgt_offload_entry {
  void* addr;
  char* name;
  int64_t size;
} __tgt_offload_entry;
typedef struct __tgt_device_image {
  void* ImageStart;
  void* ImageEnd;
  __tgt_offload_entry* EntriesBegin;
  __tgt_offload_entry* EntriesEnd;
} __tgt_device_image;
typedef struct __tgt_bin_desc {
  uint32_t NumDevices;
  __tgt_device_image* DeviceImages;
  __tgt_offload_entry* EntriesBegin;
  __tgt_offload_entry* EntriesEnd;
} __tgt_bin_desc;
void __tgt_register_lib(__tgt_bin_desc* desc);
void __tgt_unregister_lib(__tgt_bin_desc* desc);
int32_t __tgt_target(int32_t device_id, void* host_addr, int32_t num_args, void** args_base, void** args,
                     int64_t* args_size, int32_t* args_maptype);

static int counter = 1;
static void add_one(int* values, long count) {
  while (count-- > 0)
    ++values[count];
}
static char others[8]; /* the addresses of host versions that nobody calls */
/* Of these bytes, 4 entries may be 3 of LLVM's, and 7 and 28 may be of LLVM's other size, too. */
static __tgt_offload_entry entries[28] = {
    {(void*)add_one, "add_one", 0},       {&counter, "counter", sizeof counter}, {&others[0], "add_ten", 0},
    {&others[1], "count_up", 0},          {&others[2], "nothing", 0},            {0, "absent", 0},
    {&others[3], "no_such_kernel", 0},
};
static __tgt_device_image image;
static __tgt_bin_desc descriptor;

/* The number of entries; what the region returned, or -9: it has not done its work. */
__attribute__((visibility("default"))) int document_run(void* begin, void* end, int count) {
  int values[2] = {1, 2};
  void* base[] = {values, (void*)2};
  int64_t size[] = {sizeof values, 0};
  int32_t type[] = {0x23, 0x100};
  for (int i = 7; i < 28; ++i)
    entries[i] = entries[i % 7];
  image = (__tgt_device_image){begin, end, entries, entries + count};
  descriptor = (__tgt_bin_desc){1, &image, entries, entries + count};
  __tgt_register_lib(&descriptor);
  int32_t result = __tgt_target(-1, (void*)add_one, 2, base, base, size, type);
  if (result == 0 && (values[0] != 2 || values[1] != 3))
    result = -9;
  __tgt_unregister_lib(&descriptor);
  return result;
}
