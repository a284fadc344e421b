/* What happens to a worker, by the first argument: "newer": it is killed, and has what the next region needs; "kernel":
 * it is killed while its kernel runs; "long": its kernel takes as many seconds as the second argument says; "stopped":
 * it is stopped for so long. */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
  int process, number, seconds;
} later;

static void* send_later(void* nothing) {
  sleep((unsigned)later.seconds);
  kill(later.process, later.number);
  return nothing;
}

static void send_in(int seconds, int process, int number) {
  pthread_t thread;
  later.process = process;
  later.number = number;
  later.seconds = seconds;
  pthread_create(&thread, NULL, send_later, NULL);
  pthread_detach(thread);
}

int main(int words, char** word) {
  const char* const what = words > 1 ? word[1] : "";
  int process = 0, seconds = words > 2 ? atoi(word[2]) : 0, number = 1, on_host = 1;
#pragma omp target map(from : process)
  process = getpid();
#pragma omp target enter data map(to : number)
#pragma omp target
  number = 2;
  if (strcmp(what, "newer") == 0)
    kill(process, SIGKILL);
  if (strcmp(what, "kernel") == 0)
    send_in(1, process, SIGKILL);
  if (strcmp(what, "stopped") == 0) {
    kill(process, SIGSTOP);
    send_in(seconds, process, SIGCONT);
    seconds = 0;
  }
#pragma omp target map(from : on_host)
  {
    sleep((unsigned)seconds);
    number += 1;
    on_host = omp_is_initial_device();
  }
#pragma omp target exit data map(from : number)
  printf("%d, %s\n", number, on_host ? "on the host" : "on a worker");
  return 0;
}
