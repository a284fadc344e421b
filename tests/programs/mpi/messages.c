/* The least messages of a region of 64 bytes on a worker, each way, once it has run; and of memory that comes and goes.
 * The argument is the plugin's file. */
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

typedef void Messages(uint64_t* sent, uint64_t* received);

int main(int count, char** words) {
  char bytes[64] = {0};
  Messages* messages = NULL;
  uint64_t least[2] = {1000, 1000}, most_of_memory = 0;
  for (int i = 0; i < 100; ++i) {
    uint64_t before[2] = {0, 0}, after[2] = {0, 0};
    if (messages)
      messages(&before[0], &before[1]);
#pragma omp target map(tofrom : bytes)
    ++bytes[0];
    if (messages) {
      messages(&after[0], &after[1]);
      for (int way = 0; way < 2; ++way)
        if (after[way] - before[way] < least[way])
          least[way] = after[way] - before[way];
      continue;
    }
    void* const plugin = dlopen(words[count - 1], RTLD_NOW | RTLD_NOLOAD);
    messages = plugin ? (Messages*)dlsym(plugin, "__tgt_rtl_mpi_messages") : NULL;
    if (!messages)
      return 1;
  }
  const size_t sizes[] = {8, 4000, 1 << 20};
  for (int round = 0; round < 20; ++round) {
    uint64_t before[2], after[2];
    messages(&before[0], &before[1]);
    for (int i = 0; i < 3; ++i)
      omp_target_free(omp_target_alloc(sizes[i], 0), 0);
    messages(&after[0], &after[1]);
    if (round > 0 && after[0] - before[0] > most_of_memory)
      most_of_memory = after[0] - before[0];
  }
  printf("%d: %d out, %d back; memory %d\n", bytes[0], (int)least[0], (int)least[1], (int)most_of_memory);
  return 0;
}
