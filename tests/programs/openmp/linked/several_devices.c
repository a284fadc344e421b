/* Figure 1 of the proposal of 2013: iterations go to all devices in turn, at once; then regions that name no device,
 * under OMPTOOL_DEVICE_POLICY. Prints "DEVICES DEVICES": how many ran at once, of each.
 *
 * What runs at once is seen by kernels that wait for each other, in memory of the host, which a device of the CPU
 * reaches by its address. */
#include "../check.h"

enum { ROUNDS = 1000, MOST = 8 };

#pragma omp declare target
static int foo(const int* c) {
  int sum = 0;
  for (int i = 0; i < ROUNDS; ++i)
    sum += c[i];
  return sum;
}
/* Says that it is there, and waits for the others. */
static void meet(uintptr_t address, int expected) {
  int* const come = (int*)address;
  __atomic_fetch_add(come, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(come, __ATOMIC_ACQUIRE) < expected)
    ;
}
int number = -1; /* the device's */
#pragma omp end declare target

static void loop(int devices) {
  int c[ROUNDS], red[MOST] = {0}, total = 0;
  for (int i = 0; i < ROUNDS; ++i)
    c[i] = i % 7;
  const int expected = foo(c);
#pragma omp parallel for num_threads(MOST)
  for (int device = 0; device < devices; ++device)
    for (int i = device; i < ROUNDS; i += devices) {
      int one = 0;
#pragma omp target device(device) map(to : c) map(tofrom : one)
      one += foo(c);
      red[device] += one / expected;
    }
  for (int device = 0; device < devices; ++device)
    total += red[device];
  CHECK(total == ROUNDS);
}

/* How many devices took part in one meeting. */
static int meeting(int devices, int names_device) {
  int come = 0, used = 0, ran[MOST] = {0};
  const uintptr_t address = (uintptr_t)&come;
#pragma omp parallel num_threads(devices)
  {
    const int me = omp_get_thread_num();
    int here = -1;
    if (names_device) {
#pragma omp target device(me) map(from : here)
      {
        meet(address, devices);
        here = number;
      }
    } else {
#pragma omp target map(from : here)
      {
        meet(address, devices);
        here = number;
      }
    }
#pragma omp atomic
    ran[here] += 1;
  }
  for (int device = 0; device < devices; ++device)
    used += ran[device] != 0;
  return used;
}

int main(void) {
  const int devices = omp_get_num_devices();
  loop(devices);
  for (number = 0; number < devices; ++number) {
#pragma omp target update to(number) device(number)
  }
  printf("%d %d\n", meeting(devices, 1), meeting(devices, 0));
  return failures != 0;
}
