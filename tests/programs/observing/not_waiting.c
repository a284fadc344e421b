/* A region without waiting. */
int main(void) {
  int x[4] = {0};
#pragma omp target nowait map(tofrom : x)
  x[0] = 1;
#pragma omp taskwait
  return x[0] != 1;
}
