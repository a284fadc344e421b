/* Two kernels; the test knows the lines. */
__kernel void first(__global int *p) { p[0] = 1; }

__kernel void second(__global int *p) { p[0] = 2; }
