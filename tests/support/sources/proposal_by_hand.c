/* A compiler's work by hand: the descriptor, a raw image, registration. IMAGE, SECTION as -D. */
#ifdef UNVERSIONED
#define LIBTARGET_NO_SYMVER
#endif
#include "libtarget.h"
void first(long *p) { *p = 1; }
void second(long *p) { *p = 2; }
long table[4];
__asm__(".section .rodata\n image: .incbin \"" IMAGE "\"\n image_end:\n .previous");
extern char image[], image_end[];
__attribute__((section(SECTION), used)) static tgt_offload_entry entries[3] =
    {{table, sizeof table}, {(void *)first, 0}, {(void *)second, 0}};
static tgt_device_image images[1] = {{image, image_end}};
static tgt_bin_desc descriptor = {1, images, entries, entries + 3};
__attribute__((constructor)) static void begin(void) { __tgt_register_lib(&descriptor); }
