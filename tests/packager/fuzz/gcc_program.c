/* A program without a C library, so that it is small. */
int table[4];
#pragma omp declare target to(table)
void _start(void) {
  int y = 0;
#pragma omp target map(tofrom : y)
  y = table[1] + 1;
}
