/* A device image whose kernels were written for a device runtime, which is in the image, as thread_state.h says. */
#include "../../../plugins/host/kernels/thread_state.h"

const struct omptool_thread_state* (*__omptool_thread_state)(void);
const int32_t __omptool_device_runtime = 1;

/* LLVM's Environment.h: a kernel's own record begins so, and goes on with two addresses. */
struct environment {
  unsigned char machine, nested, mode;
  int32_t least_threads, most_threads, least_teams, most_teams, reduction_size, reduction_count;
};

static struct {
  int32_t calls, number_sum, teams, thread_limit, device;
} seen;

static void count(void) {
  const struct omptool_thread_state* state = __omptool_thread_state();
  __atomic_fetch_add(&seen.calls, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&seen.number_sum, state->team_num, __ATOMIC_RELAXED);
  __atomic_store_n(&seen.teams, state->num_teams, __ATOMIC_RELAXED);
  __atomic_store_n(&seen.thread_limit, state->thread_limit, __ATOMIC_RELAXED);
  seen.device |= state->device_num | state->thread_num | (state->num_threads - 1);
}

void open(void) {
  count();
}
const struct environment open_kernel_environment = {1, 1, 2, 1, 256, 1, -1, 0, 0};
void bounded(void) {
  count();
}
const struct environment bounded_kernel_environment = {1, 1, 2, 1, 256, 1, 3, 0, 0};
/* A record of 24 bytes, and none. */
void brief(void) {
  count();
}
const int32_t brief_kernel_environment[6] = {0, 1, 256, 1, 3, 0};
void plain(void) {
  count();
}

/* Returns what was counted, and begins again. */
void take(int32_t* out) {
  __builtin_memcpy(out, &seen, sizeof seen);
  __builtin_memset(&seen, 0, sizeof seen);
}
