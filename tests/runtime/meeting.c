/* A kernel on each device, at once: each ends when all have begun. Prints how many ran. They see each other in memory of
 * the host, whose address they get as a number. */
#include <omptarget.h>
#include <pthread.h>
#include <stdio.h>

enum { DEVICES = 2 };

static void meet(int32_t* come, int64_t expected) {
  (void)come;
  (void)expected;
}
OMPTARGET_KERNEL(meet);

static int32_t come;

static void* launch(void* number) {
  void* base[] = {&come, (void*)(int64_t)DEVICES};
  void* begin[] = {NULL, NULL};
  int64_t size[] = {0, 0};
  int32_t type[] = {OMP_TGT_MAPTYPE_PRIVATE_VAL, OMP_TGT_MAPTYPE_PRIVATE_VAL};
  const int32_t device = (int32_t)(int64_t)number;
  return (void*)(int64_t)__tgt_target_teams(device, (void*)meet, 2, base, begin, size, type, 1, 1);
}

int main(void) {
  pthread_t threads[DEVICES];
  int ran = 0;
  for (int64_t device = 0; device < DEVICES; ++device)
    pthread_create(&threads[device], NULL, launch, (void*)device);
  for (int device = 0; device < DEVICES; ++device) {
    void* result = NULL;
    pthread_join(threads[device], &result);
    ran += !result;
  }
  printf("%d\n", ran);
  return 0;
}
