// What clang's linker wrapper adds to a program: its image, here -DIMAGE="file" as it is, and the registration.
#include <stddef.h>

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
extern const char begin[], end[];
__asm__(".pushsection .rodata\n.balign 8\nbegin: .incbin \"" IMAGE "\"\nend: .byte 0\n.popsection");

static struct image image = {begin, end, &entries, &entries_end};
static struct descriptor descriptor = {1, &image, &entries, &entries_end};

void __tgt_register_lib(struct descriptor *descriptor);
void __tgt_unregister_lib(struct descriptor *descriptor);

__attribute__((constructor(101))) static void load(void) { __tgt_register_lib(&descriptor); }
__attribute__((destructor(101))) static void unload(void) { __tgt_unregister_lib(&descriptor); }
