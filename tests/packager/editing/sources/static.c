/* A program with a runtime of its own, which says how many images it was given. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
struct image {
  char *begin, *end;
  void *entries[2];
};
struct descriptor {
  int count;
  struct image *images;
  void *entries[2];
};
static struct descriptor *given;
void __tgt_register_lib(struct descriptor *one) { given = one; }
void __tgt_unregister_lib(struct descriptor *one) { (void)one; }
void kernel(void) {}
struct entry {
  void *address;
  const char *name;
  size_t size;
  int flags, reserved;
};
__attribute__((section("omp_offloading_entries"), used)) struct entry entry = {kernel, "kernel"};
int main(int count, char **words) {
  struct image *last = &given->images[given->count - 1];
  printf("%d of %td bytes\n", given->count, last->end - last->begin);
  return strlen(words[count - 1]) == 0; /* one that the program binds when it starts */
}
