/* An image that was built from less than the host knows, whose constructor uses the runtime. */
extern int omp_get_num_devices(void) __attribute__((weak));
extern int omp_get_default_device(void) __attribute__((weak));
int devices_at_load = -1;
__attribute__((constructor)) static void ask(void) {
  if (omp_get_num_devices && omp_get_default_device)
    devices_at_load = omp_get_num_devices() + omp_get_default_device();
}
void add_ten(int* values, long count) {
  for (long i = 0; i < count; ++i)
    values[i] += 10;
}
