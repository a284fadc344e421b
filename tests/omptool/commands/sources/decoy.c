int omp_get_num_devices(void) { return 77; }
int omp_get_default_device(void) { return 7; }
