/* The sample plugin with images in a format of its own: a magic number, then a shared object. */
#define __tgt_rtl_is_valid_binary takes_shared_object
#define __tgt_rtl_load_binary load_shared_object
#include "sample.c"
#undef __tgt_rtl_is_valid_binary
#undef __tgt_rtl_load_binary

static const char MAGIC[16] = "\001OWN FORMAT\n";

int32_t __tgt_rtl_is_valid_binary(__tgt_device_image *image) {
  __tgt_device_image inner = *image;
  const size_t size = (size_t)((char *)image->ImageEnd - (char *)image->ImageStart);
  if (size < sizeof MAGIC || memcmp(image->ImageStart, MAGIC, sizeof MAGIC) != 0)
    return 0;
  inner.ImageStart = (char *)image->ImageStart + sizeof MAGIC;
  return takes_shared_object(&inner);
}

tgt_target_table *__tgt_rtl_load_binary(int32_t device, __tgt_device_image *image) {
  __tgt_device_image inner = *image;
  inner.ImageStart = (char *)image->ImageStart + sizeof MAGIC;
  return load_shared_object(device, &inner);
}
