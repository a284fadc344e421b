/* A stencil over all devices. In the middle the third worker gets a signal, whose number is the first argument, and the
 * program goes on as many seconds later as the second one says. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PER_DEVICE = 1000, STEPS = 20 };

static void step_on(int device, const double* from, double* to) {
#pragma omp target teams distribute parallel for device(device) map(to : from[0 : PER_DEVICE + 2])                     \
    map(from : to[1 : PER_DEVICE])
  for (int i = 1; i <= PER_DEVICE; ++i)
    to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
}

static void step_on_host(const double* from, double* to, int count) {
  for (int i = 1; i <= count; ++i)
    to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
}

static void swap(double** one, double** other) {
  double* const kept = *one;
  *one = *other;
  *other = kept;
}

int main(int words, char** word) {
  const int devices = omp_get_num_devices(), size = devices * PER_DEVICE, third = 2;
  const size_t bytes = ((size_t)size + 2) * sizeof(double);
  double *values = malloc(bytes), *next = malloc(bytes), *plain = malloc(bytes), *other = malloc(bytes), slowest = 0;
  int process = 0, wrong = 0;
  if (words < 3 || devices <= third)
    return 2;
  for (int i = 0; i < size + 2; ++i)
    values[i] = next[i] = plain[i] = other[i] = i % 97;
#pragma omp target map(from : process) device(third)
  process = getpid();
  for (int at = 0; at < STEPS; ++at) {
    if (at == STEPS / 2) {
      kill(process, atoi(word[1]));
      sleep((unsigned)atoi(word[2]));
    }
    for (int device = 0; device < devices; ++device) {
      const double before = omp_get_wtime();
      step_on(device, values + device * PER_DEVICE, next + device * PER_DEVICE);
      const double time = omp_get_wtime() - before;
      slowest = time > slowest ? time : slowest;
    }
    step_on_host(plain, other, size);
    swap(&values, &next);
    swap(&plain, &other);
  }
  for (int i = 0; i < size + 2; ++i)
    wrong += values[i] != plain[i];
  printf("%d devices, %d wrong, slowest region %.1f s\n", devices, wrong, slowest);
  return wrong != 0;
}
