/* A program of several processes that uses MPI, beside workers. Each process has a region on each of its devices, and
 * MPI adds up what the processes have. */
#include "any_mpi.h"

#include <omp.h>
#include <stdio.h>

int main(int count, char** words) {
  const Handle mine = started(&count, &words);
  int size = 0, rank = 0, values[2] = {0, 0}, sums[2];
  MPI_Comm_size(mine, &size);
  MPI_Comm_rank(mine, &rank);
  for (int device = 0; device < omp_get_num_devices(); ++device)
#pragma omp target map(tofrom : values) device(device)
  {
    values[0] += 1;
    values[1] += !omp_is_initial_device();
  }
  MPI_Allreduce(values, sums, 2, INT, SUM, mine);
  if (rank == 0)
    printf("%d processes, %d regions, %d on devices\n", size, sums[0], sums[1]);
  MPI_Finalize();
  return 0;
}
