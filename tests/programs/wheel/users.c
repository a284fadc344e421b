/* Of three libraries each knows the runtime by another name. */
#include <stdio.h>
void map_16(int *, long), unmap_16(int *, long);
int present_19(int *), scale_2013(int *, int);
int main(void) {
  int values[] = {1, 2};
  map_16(values, sizeof values);
  printf("%d", present_19(values));
  printf(" %d", scale_2013(values, 2));
  printf(" %d", values[0]);
  unmap_16(values, sizeof values);
  printf(" %d %d %d\n", present_19(values), values[0], values[1]);
  return 0;
}
