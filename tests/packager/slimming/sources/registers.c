// A program or library with fat binaries as nvcc's have them. It prints each one that it registers:
// size, images with their sums. Then it uses what depends on program headers.
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "../../../support/fatbin_entry.h"
#ifndef FLAGS
#define FLAGS "a"
#endif
#ifndef SECTION
#define SECTION ".nv_fatbin"
#endif
#ifndef SECOND
#define SECOND SECTION
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define FATBIN(n, in)                                                                                                  \
  __asm__(".pushsection " in ",\"" FLAGS "\",@progbits\n.balign 8\nfatbinData" #n                                      \
          ": .incbin \"" TEXT(BLOBS) "/" #n "\"\n.popsection\n");                                                      \
  extern const unsigned char fatbinData##n[] __attribute__((visibility("hidden")));                                    \
  __attribute__((section(".nvFatBinSegment"), used, aligned(8))) static struct Wrapper wrapper##n = {                  \
      0x466243b1, 1, fatbinData##n, 0};
struct Wrapper {
  unsigned magic, version;
  const void* data;
  void* other;
};
FATBIN(0, SECTION)
FATBIN(1, SECTION)
FATBIN(2, SECOND)

#ifdef INSIDE
const void* inside = fatbinData1 + 8;
#endif
#ifdef CODE
const void* code(void) {
  return fatbinData2;
}
#endif
#ifdef BETWEEN
__asm__(".pushsection " SECTION ",\"" FLAGS "\",@progbits\n.quad 1\n.popsection\n");
#endif

#ifdef ALIGNED
__attribute__((aligned(ALIGNED))) int aligned = 1;
#endif

static __thread int counted = 40;
static int zeros[1 << 16];
static const char text[] = "some text";

__attribute__((noinline)) static void __cudaRegisterFatBinary(const struct Wrapper* wrapper) {
  const unsigned char* at = wrapper->data;
  unsigned long size;
  memcpy(&size, at + 8, 8);
  printf("fat binary of %lu bytes, aligned %d:", size, (int)((unsigned long)at % 8));
  const unsigned char* const end = at + 16 + size;
  for (at += 16; at < end;) {
    struct Entry entry;
    at = read_entry(at, &entry);
    printf(" sm_%u %x", entry.arch, entry.sum);
  }
  printf("\n");
}

static int each(struct dl_phdr_info* info, size_t size, void* data) {
  for (int n = 0; n < info->dlpi_phnum; ++n) {
    const ElfW(Phdr)* const row = info->dlpi_phdr + n;
    const unsigned long start = info->dlpi_addr + row->p_vaddr;
    if (row->p_type == PT_LOAD && start <= (unsigned long)text && (unsigned long)text < start + row->p_memsz)
      ++*(int*)data;
  }
  return size == 0;
}

__attribute__((constructor)) static void start(void) {
  __cudaRegisterFatBinary(&wrapper0);
  __cudaRegisterFatBinary(&wrapper1);
  __cudaRegisterFatBinary(&wrapper2);
  int found = 0, sum = 0;
  for (int n = 0; n < (int)(sizeof zeros / sizeof *zeros); ++n)
    sum += zeros[n]++;
  dl_iterate_phdr(each, &found);
  printf("%s, %d of 1 segment, %d, %d\n", text, found, sum, ++counted);
  fflush(stdout);
}

__attribute__((visibility("default"))) int main(void) {
  return counted != 41;
}
