#include <stdint.h>
#include <stdio.h>

int64_t offloaded(int64_t value);

int main(void) {
  printf("%d\n", (int)offloaded(2));
  return 0;
}
