/* A device image whose teams work together, as thread_state.h says. */
#include "../../../plugins/host/kernels/thread_state.h"

const struct omptool_thread_state* (*__omptool_thread_state)(void);
void (*__omptool_team_barrier)(void);
void* (*__omptool_team_memory)(void);

/* out[i] = the i-th of the team's numbers, from its end. */
void turn_round(int* numbers, int* out) {
  const struct omptool_thread_state* state = __omptool_thread_state();
  const int me = state->thread_num, threads = state->num_threads, first = state->team_num * threads;
  int* const shared = __omptool_team_memory();
  shared[me] = numbers[first + me];
  __omptool_team_barrier();
  out[first + me] = shared[threads - 1 - me];
}

/* Not in the list: called as other images' kernels are. */
void add_ten(int* value) {
  *value += 10;
}

struct omptool_team_kernel __omptool_team_kernels[] = {{(void*)turn_round, 1024 * sizeof(int)}, {0, 0}};
