/* Figure 6.44: variables and functions that the device has for the whole run, declared in every form. */
#include "book.h"

int last = 0;
extern char text[128];
#pragma omp declare target(last, text)

extern int after(int, int);
#pragma omp declare target to(after)

#pragma omp declare target
int state = -1;
extern int find_end(const char*);

void append(char c) {
  text[last] = c;
  int const end = find_end(text);
  state = after(last, end);
  last = end;
}
#pragma omp end declare target

/* What the figure leaves to another file. */
char text[128];
int after(int before, int end) {
  return ON_DEVICE() ? 100 * before + end : -2;
}
#pragma omp declare target
int find_end(const char* from) {
  int end = 0;
  while (from[end])
    ++end;
  return end;
}
#pragma omp end declare target

static void take(char c) {
#pragma omp target firstprivate(c)
  append(c);
}

int main(void) {
  take('a');
  take('b');
  take('c');
  CHECK(last == 0 && state == -1 && text[0] == 0); /* the host's are others */
#pragma omp target update from(last, state, text)
  CHECK(last == 3 && state == 203 && strcmp(text, "abc") == 0);
  return report();
}
