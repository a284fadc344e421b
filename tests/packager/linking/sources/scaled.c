// A function of host and devices.
#pragma omp declare target
int scaled(int value) { return 10 * value; }
#pragma omp end declare target
