/* What makes a program of proposal_host.c: it is put behind it. */
#include <stdio.h>
int main(void) {
  long value = 0;
  void *objects[1] = {&value};
  int sizes[1] = {sizeof value};
  tgt_map_type types[1] = {tgt_map_tofrom};
  int result = __tgt_target(-1, (void *)second, 1, objects, sizes, types);
  printf("%d %ld\n", result, value);
  return 0;
}
