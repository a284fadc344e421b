/* What has to be present is not. */
int main(void) {
  int x[20] = {0};
#pragma omp target update to(present : x) /* OMP304 */
  return 0;
}
