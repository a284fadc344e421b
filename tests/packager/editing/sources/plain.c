/* A program that knows of no device: its constructor is given main's arguments. */
#include <stdio.h>
int counter;
void first(void *p) { *(int *)p = 1; }
__attribute__((constructor)) static void construct(int count, char **words) {
  counter = count;
  printf("constructed with %d, ", count);
  if (count > 1) printf("%s, ", words[1]);
}
__attribute__((destructor)) static void destruct(void) { puts("destroyed"); }
int main(void) { return counter < 1; }
