/* Constructs unmap and update what is not mapped. */
int main(void) {
  int x[20] = {0}, y[20] = {0};
#pragma omp target exit data map(from : x) /* OMP312 */
#pragma omp target update to(y) /* OMP312 */
#pragma omp target exit data map(release : x[0 : 0])
  return 0;
}
