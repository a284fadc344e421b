/* The program handles SIGSEGV and SIGTRAP itself: before its first region, between two, and with a handler that calls
 * the one before it. A region is at fault in between, and the program's threads block all signals at the end. */
#include "../openmp/check.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { N = 100 };

static sigjmp_buf out;
static struct sigaction before;
static int faults, traps, chained;

static void leave(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  ++faults;
  siglongjmp(out, 1);
}
static void count(int signal) {
  (void)signal;
  ++traps;
}
static void chain(int signal, siginfo_t* info, void* context) {
  ++chained;
  before.sa_sigaction(signal, info, context);
}
static void handle(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, &before) == 0);
}

static void region(void) {
  int values[N], last = N;
#pragma omp target map(from : values) map(to : last)
  for (int i = 0; i <= last; ++i)
    values[i] = i; /* OMP321 */
  CHECK(values[N - 1] == N - 1);
}
static void fault(void) {
  static char* volatile none;
  if (!none)
    none = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!sigsetjmp(out, 1))
    *none = 1;
}

int main(void) {
  handle(leave);
  signal(SIGTRAP, count);
  region();
  fault();
  handle(leave);
  region();
  fault();
  raise(SIGTRAP);
  CHECK(faults == 2 && traps == 1);
  handle(chain);
  region();
  fault();
  CHECK(faults == 3 && chained == 1);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  region();
  pthread_sigmask(SIG_BLOCK, NULL, &all);
  CHECK(sigismember(&all, SIGSEGV) == 1);
  return report();
}
