/* A library that looks for what others mapped. */
int omp_target_is_present(const void *, int);

int find(int *p) { return omp_target_is_present(p, 0); }
