/* A stencil on two devices. While a device computes the inner part of its half, its row at the border goes to the other
 * one: both are parts of constructs without waiting. Prints the sum of the result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 16, kColumns = 1 << 17, kSteps = 4 };
enum { kCells = (kRows + 2) * kColumns }; /* with a row of the other half, and one at the edge */

static void compute(const double* from, double* to, int first, int last) {
  for (int row = first; row <= last; ++row)
    for (int column = 1; column < kColumns - 1; ++column) {
      const long at = (long)row * kColumns + column;
      const double across = from[at + 1] - from[at - 1], down = from[at + kColumns] - from[at - kColumns];
      const double mean = 0.25 * (from[at - 1] + from[at + 1] + from[at - kColumns] + from[at + kColumns]);
      to[at] = from[at] + (mean - from[at]) / sqrt(1 + across * across + down * down);
    }
}

/* The half of device 0 is above that of device 1. */
static int border_of(int device) {
  return device == 0 ? kRows : 1;
}
static int halo_of(int device) {
  return device == 0 ? kRows + 1 : 0;
}

int main(void) {
  double* half[2][2]; /* of each device, what a step reads and what it writes */
  double* sent[2];    /* from each device */
  for (int device = 0; device < 2; ++device) {
    for (int side = 0; side < 2; ++side) {
      double* const cells = half[device][side] = calloc(kCells, sizeof *cells);
      for (long at = 0; at < kCells; ++at)
        cells[at] = (double)((at + device) % 17);
#pragma omp target enter data map(to : cells[0 : kCells]) device(device)
    }
    sent[device] = calloc(kColumns, sizeof *sent[device]);
  }
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int step = 0; step < kSteps; ++step) {
    for (int device = 0; device < 2; ++device) {
      const double* const from = half[device][step % 2];
      double* const to = half[device][1 - step % 2];
      const int border = border_of(device), first = device == 0 ? 1 : 2;
#pragma omp target nowait device(device) map(to : from[0 : kCells]) map(tofrom : to[0 : kCells]) depend(out : sent[device])
      compute(from, to, border, border);
#pragma omp target nowait device(device) map(to : from[0 : kCells]) map(tofrom : to[0 : kCells])
      compute(from, to, first, first + kRows - 2);
    }
    for (int device = 0; device < 2; ++device) {
      double* const border = half[device][1 - step % 2];
      double* const halo = half[1 - device][1 - step % 2];
      const long here = (long)border_of(device) * kColumns, there = (long)halo_of(1 - device) * kColumns;
#pragma omp target update nowait device(device) from(border[here : kColumns]) depend(inout : sent[device])
#pragma omp task depend(inout : sent[device])
      for (long column = 0; column < kColumns; ++column)
        halo[there + column] = border[here + column];
#pragma omp target update nowait device(1 - device) to(halo[there : kColumns]) depend(inout : sent[device])
    }
#pragma omp taskwait
  }
  double sum = 0;
  for (int device = 0; device < 2; ++device) {
    double* const cells = half[device][kSteps % 2];
    double* const others = half[device][1 - kSteps % 2];
#pragma omp target exit data map(from : cells[0 : kCells]) map(release : others[0 : kCells]) device(device)
    for (long at = kColumns; at < (long)(kRows + 1) * kColumns; ++at)
      sum += cells[at];
    free(cells);
    free(others);
    free(sent[device]);
  }
  printf("%.3f\n", sum);
  return 0;
}
