/* What happens to the worker, by the first argument; the second is a number of seconds. "newer": it is killed, and has
 * the newest value of a variable; the next region comes so much later. "stopped": it is stopped for so long. "long":
 * its kernel takes so long. "program": the program is killed instead. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By a process of its own, which goes on whatever becomes of this one. */
static void let_go_on(int process, int seconds) {
  char command[100];
  snprintf(command, sizeof command, "(sleep %d; kill -CONT %d) >/dev/null 2>&1 &", seconds, process);
  if (system(command) != 0)
    exit(2);
}

int main(int words, char** word) {
  const char* const what = words > 1 ? word[1] : "";
  const int seconds = words > 2 ? atoi(word[2]) : 0, in_kernel = strcmp(what, "long") == 0 ? seconds : 0;
  int process = 0, number = 1, on_host = 1;
#pragma omp target map(from : process)
  process = getpid();
#pragma omp target enter data map(to : number)
#pragma omp target map(number)
  number = 2;
  if (strcmp(what, "newer") == 0) {
    kill(process, SIGKILL);
    sleep((unsigned)seconds);
  } else if (strcmp(what, "stopped") == 0) {
    let_go_on(process, seconds);
    kill(process, SIGSTOP);
  } else if (strcmp(what, "program") == 0)
    kill(getpid(), SIGKILL);
#pragma omp target map(from : on_host) map(number)
  {
    sleep((unsigned)in_kernel);
    number += 1;
    on_host = omp_is_initial_device();
  }
#pragma omp target exit data map(from : number)
  printf("%d, %s\n", number, on_host ? "on the host" : "on a worker");
  return 0;
}
