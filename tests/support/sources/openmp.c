/* Two regions and a variable of the device; tests know the lines. */
double table[4];
#pragma omp declare target to(table)
int main(void) {
  int y[64] = {0};
#pragma omp target map(tofrom : y)
  for (int i = 0; i < 64; i++) y[i] += (int)table[0];
#pragma omp target teams distribute parallel for map(tofrom : y)
  for (int i = 0; i < 64; i++) y[i] += 1;
  return y[3] != 1;
}
