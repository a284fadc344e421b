/* Regions that name no device, with OMPTOOL_DEVICE_POLICY=least-loaded: those without data spread over the devices,
 * each of which is a process, and those with data go where it is. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST = 16, ROUNDS = 3, NAP = 200000 };

int main(void) {
  const int devices = omp_get_num_devices();
  int process[MOST], where[MOST], on[MOST] = {0}, found[MOST][ROUNDS] = {{0}}, strays = 0;
  for (int device = 0; device < devices; ++device) {
#pragma omp target map(from : process[device]) device(device)
    process[device] = getpid();
  }
#pragma omp parallel num_threads(devices)
#pragma omp single
  {
    for (int i = 0; i < devices; ++i) {
#pragma omp target map(from : where[i]) nowait
      {
        usleep(NAP);
        where[i] = getpid();
      }
    }
#pragma omp taskwait
  }
  for (int i = 0; i < devices; ++i)
    for (int device = 0; device < devices; ++device)
      on[device] += where[i] == process[device];
  for (int device = 0; device < devices; ++device) {
    int* const mine = found[device];
#pragma omp target enter data map(to : mine[ : ROUNDS]) device(device)
  }
  for (int round = 0; round < ROUNDS; ++round)
    for (int device = 0; device < devices; ++device) {
      int* const mine = found[device];
#pragma omp target map(tofrom : mine[ : ROUNDS])
      mine[round] = getpid();
    }
  for (int device = 0; device < devices; ++device) {
    int* const mine = found[device];
#pragma omp target exit data map(from : mine[ : ROUNDS]) device(device)
    for (int round = 0; round < ROUNDS; ++round)
      strays += mine[round] != process[device];
  }
  for (int device = 0; device < devices; ++device)
    printf("%d ", on[device]);
  printf("and %d strays\n", strays);
  return 0;
}
