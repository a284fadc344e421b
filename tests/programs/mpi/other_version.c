/* FAKE: a worker of omptool 0.0.9. It greets the program of rank 0 with its version, and waits for its end. */
#include "any_mpi.h"

#include <unistd.h>

enum { GREETING = 24711 }; /* the tag */

int main(int count, char** words) {
  struct {
    long long length;
    char version[8];
  } greeting = {5, "0.0.9"};
  int level = 0;
  MPI_Init_thread(&count, &words, LEVEL, &level);
  MPI_Send(&greeting, sizeof greeting, BYTE, 0, GREETING, WORLD);
  sleep(60);
  return 0;
}
