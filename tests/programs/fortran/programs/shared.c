/* C's part of shared.f90. */
int omp_get_team_num(void);
int omp_get_num_teams(void);

void c_region(int* a, int n, int* teams) {
  int seen = 0;
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n])
  for (int i = 0; i < n; ++i)
    a[i] += 2;
#pragma omp target teams num_teams(2) map(tofrom : seen)
  if (omp_get_team_num() == 1)
    seen = omp_get_num_teams();
  *teams = seen;
}

#pragma omp declare target
int c_sum(int n) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 1; i <= n; ++i)
    sum += i;
  return sum;
}
#pragma omp end declare target
