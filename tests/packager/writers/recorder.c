/* Stands in for libomptarget: prints what it is given. */
#include <stdio.h>
#include <string.h>
#include "omptarget.h"
void recorder_register(__tgt_bin_desc *d) {
  long entries = d->EntriesEnd - d->EntriesBegin;
  printf("register %u images, %ld entries:", d->NumDevices, entries);
  for (__tgt_offload_entry *e = d->EntriesBegin; e != d->EntriesEnd; ++e)
    printf(" %s/%ld%s", e->name, (long)e->size, e->addr ? "" : "!");
  for (unsigned i = 0; i < d->NumDevices; ++i) {
    char *start = d->DeviceImages[i].ImageStart, *end = d->DeviceImages[i].ImageEnd;
    printf(" [%.*s]", (int)(end - start), start);
  }
  puts("");
}
void recorder_unregister(__tgt_bin_desc *d) { printf("unregister %u\n", d->NumDevices); }
__asm__(".symver recorder_register,__tgt_register_lib@OMPTARGET_4.5");
__asm__(".symver recorder_unregister,__tgt_unregister_lib@OMPTARGET_4.5");
