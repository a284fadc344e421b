/* Looks for what others mapped. */
int omp_target_is_present(const void *, int);
int present_19(int *values) { return omp_target_is_present(values, 0); }
