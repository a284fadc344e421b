/* A region, a child that runs it on the host, and the region again. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int x = 1;

static void add_one(void) {
#pragma omp target map(tofrom : x)
  x += 1;
}

int main(void) {
  add_one();
#pragma omp target enter data map(to : x)
  const pid_t child = fork();
  if (child == 0) {
    add_one();
#pragma omp target update from(x)
#pragma omp target exit data map(delete : x)
    _exit(x == 3 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  add_one();
#pragma omp target exit data map(from : x)
  puts(status == 0 && x == 3 ? "ok" : "wrong");
  return 0;
}
