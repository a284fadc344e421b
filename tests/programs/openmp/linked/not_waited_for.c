/* Ends while its tasks are to be done. */
int x[4];

int main(void) {
  for (int i = 0; i < 20; ++i) {
#pragma omp target nowait map(tofrom : x)
    x[0]++;
  }
  return 0;
}
