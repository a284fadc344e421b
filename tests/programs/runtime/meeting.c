/* A kernel on each device that is named, at once: each ends when all have begun. Prints how many ran. They see each other
 * in memory of the host, whose address they get as a number.
 *
 * Usage: meeting DEVICE... */
#include <omptarget.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };
static int devices;

static void meet(int32_t* come, int64_t expected) {
  (void)come;
  (void)expected;
}
OMPTARGET_KERNEL(meet);

static int32_t come;

static void* launch(void* number) {
  void* base[] = {&come, (void*)(int64_t)devices};
  void* begin[] = {NULL, NULL};
  int64_t size[] = {0, 0};
  int32_t type[] = {OMP_TGT_MAPTYPE_PRIVATE_VAL, OMP_TGT_MAPTYPE_PRIVATE_VAL};
  const int32_t device = atoi(number);
  return (void*)(int64_t)__tgt_target_teams(device, (void*)meet, 2, base, begin, size, type, 1, 1);
}

int main(int argc, char** argv) {
  pthread_t threads[MOST];
  int ran = 0;
  devices = argc - 1 < MOST ? argc - 1 : MOST;
  for (int i = 0; i < devices; ++i)
    pthread_create(&threads[i], NULL, launch, argv[i + 1]);
  for (int i = 0; i < devices; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    ran += !result;
  }
  printf("%d\n", ran);
  return 0;
}
