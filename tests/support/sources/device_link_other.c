// What the regions of device_link_regions.c use.
#pragma omp declare target
double offset = 0.5;
double scaled(double x);
double scaled(double x) { return x * FACTOR; }
#pragma omp end declare target
