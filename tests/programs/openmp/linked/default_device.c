/* A library that asks the runtime alone: it is not linked with libomp. */
int omp_get_default_device(void);

int first(void) { return omp_get_default_device(); }
