/* A region that runs from threads, in a child of fork, or before a signal: the argument says which. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int add_one(int to) {
#pragma omp target map(tofrom : to)
  ++to;
  return to;
}
static void* many(void* unused) {
  for (int i = 0; i < 50; ++i)
    add_one(i);
  return unused;
}
static void from_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, many, NULL);
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
}
static void in_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    add_one(1);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}
static void fault_in_kernel(void) {
#pragma omp target
  *(volatile int*)8 = 1;
}
int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  printf("%d\n", add_one(1));
  fflush(stdout);
  if (!strcmp(way, "threads"))
    from_threads();
  if (!strcmp(way, "fork"))
    in_child();
  if (!strcmp(way, "kill"))
    raise(SIGKILL);
  if (!strcmp(way, "fault"))
    fault_in_kernel();
  if (!strcmp(way, "wait"))
    pause();
  return !strcmp(way, "fail") ? 3 : 0;
}
