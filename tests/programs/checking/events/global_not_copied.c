/* Maps of declare target variables copy nothing. A hint where host and device differ, and none where an update or
 * `always` has made them the same. */
#pragma omp declare target
int x = 1;
double table[4] = {1, 2, 3, 4};
#pragma omp end declare target

int main(void) {
  int seen = 0;
#pragma omp target map(to : x) map(from : seen)
  seen = x;
  x = 5;
#pragma omp target map(to : x) map(from : seen) /* OMP317 */
  seen = x;
#pragma omp target update to(x)
#pragma omp target map(to : x) map(from : seen)
  seen = x;
  x = 6;
#pragma omp target map(always, to : x) map(from : seen)
  seen = x;
  table[2] = 7;
#pragma omp target enter data map(to : table) /* OMP317 */
  return seen != 6;
}
