// What clang's linker wrapper adds to a program: its images, here -DIMAGE="file", -DIMAGE_2="file" and so on as they are,
// and the registration.
#include <stddef.h>
#include <stdlib.h>

struct entry;
struct image {
  const void *begin, *end;
  struct entry *entries, *entries_end;
};
struct descriptor {
  int images;
  struct image *image;
  struct entry *entries, *entries_end;
};

extern struct entry entries __asm__("__start_omp_offloading_entries");
extern struct entry entries_end __asm__("__stop_omp_offloading_entries");
#define PLACE(number, file)                                                                                            \
  extern const char begin_##number[], end_##number[];                                                                  \
  __asm__(".pushsection .rodata\n.balign 8\nbegin_" #number ": .incbin \"" file "\"\nend_" #number                      \
          ": .byte 0\n.popsection");
#define IMAGE_AT(number) {begin_##number, end_##number, &entries, &entries_end},

PLACE(1, IMAGE)
#ifdef IMAGE_2
PLACE(2, IMAGE_2)
#endif
#ifdef IMAGE_3
PLACE(3, IMAGE_3)
#endif
#ifdef IMAGE_4
PLACE(4, IMAGE_4)
#endif

static struct image images[] = {
    IMAGE_AT(1)
#ifdef IMAGE_2
    IMAGE_AT(2)
#endif
#ifdef IMAGE_3
    IMAGE_AT(3)
#endif
#ifdef IMAGE_4
    IMAGE_AT(4)
#endif
};
static struct descriptor descriptor = {sizeof images / sizeof *images, images, &entries, &entries_end};

void __tgt_register_lib(struct descriptor *descriptor);
void __tgt_unregister_lib(struct descriptor *descriptor);

static void unload(void) { __tgt_unregister_lib(&descriptor); }
__attribute__((constructor(101))) static void load(void) {
  __tgt_register_lib(&descriptor);
  atexit(unload); // LLVM 19's runtime is no more when destructors run
}
