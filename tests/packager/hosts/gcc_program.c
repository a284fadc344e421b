/* Regions and variables of each kind, for gcc. */
int table[4];
#pragma omp declare target to(table)
int linked[8];
#pragma omp declare target link(linked)
int main(void) {
  int y[4] = {0};
#pragma omp target map(tofrom : y)
  y[0] = table[1] + 1;
#pragma omp target map(tofrom : y) map(to : linked)
  y[1] = linked[2];
  return y[0] != 1;
}
