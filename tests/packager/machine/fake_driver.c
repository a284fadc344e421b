/* Stands in for CUDA's driver: its answers are -D options. */
int cuInit(unsigned flags) { return CODE; }
int cuDeviceGetCount(int *count) { *count = COUNT; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? MAJOR : 5;
  return 0;
}
