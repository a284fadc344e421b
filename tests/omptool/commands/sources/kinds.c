/* An entry of each kind. */
int linked[4], entered[2];
#pragma omp declare target link(linked)
#pragma omp declare target to(entered)
#pragma omp begin declare target indirect
int function(int x) { return x + 1; }
#pragma omp end declare target
int main() {
  int r = 0;
#pragma omp target map(tofrom : r)
  r = entered[0] + linked[1];
  return r;
}
