/* A program of several processes that uses MPI, beside workers. Each process has a region on each of its devices, and MPI
 * adds up what the processes have. -DOPEN_MPI: of that MPI; -DSTANDARD: of MPI 5's ABI; else of MPICH's. -DLEVEL=0: the
 * program's threads do not call MPI. */
#include <omp.h>
#include <stdio.h>

#ifdef OPEN_MPI
typedef void* Handle;
extern char ompi_mpi_comm_world, ompi_mpi_int, ompi_mpi_op_sum;
#define WORLD ((Handle)&ompi_mpi_comm_world)
#define INT ((Handle)&ompi_mpi_int)
#define SUM ((Handle)&ompi_mpi_op_sum)
enum { APPNUM = 4, MULTIPLE = 3 };
#elif defined(STANDARD)
typedef void* Handle;
#define WORLD ((Handle)0x101)
#define INT ((Handle)0x209)
#define SUM ((Handle)0x21)
enum { APPNUM = 505, MULTIPLE = 4096 };
#else
typedef int Handle;
#define WORLD ((Handle)0x44000000)
#define INT ((Handle)0x4c000405)
#define SUM ((Handle)0x58000003)
enum { APPNUM = 0x6440000d, MULTIPLE = 3 };
#endif
#ifndef LEVEL
#define LEVEL MULTIPLE
#endif
int MPI_Init_thread(int*, char***, int, int*);
int MPI_Comm_get_attr(Handle, int, void*, int*);
int MPI_Comm_split(Handle, int, int, Handle*);
int MPI_Comm_size(Handle, int*);
int MPI_Comm_rank(Handle, int*);
int MPI_Allreduce(const void*, void*, int, Handle, Handle, Handle);
int MPI_Finalize(void);

int main(int count, char** words) {
  int level = 0, *application = NULL, is_there = 0, size = 0, rank = 0, values[2] = {0, 0}, sums[2];
  Handle mine;
  MPI_Init_thread(&count, &words, LEVEL, &level);
  MPI_Comm_get_attr(WORLD, APPNUM, &application, &is_there);
  MPI_Comm_split(WORLD, is_there ? *application : 0, 0, &mine);
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
