/* What programs here use of MPI, declared by them: the library has no header on this machine. -DOPEN_MPI: of that MPI;
 * -DSTANDARD: of MPI 5's ABI; else of MPICH's. -DLEVEL=0: the program's threads do not call MPI. */
#ifdef OPEN_MPI
typedef void* Handle;
extern char ompi_mpi_comm_world, ompi_mpi_byte, ompi_mpi_int, ompi_mpi_op_sum;
#define WORLD ((Handle)&ompi_mpi_comm_world)
#define BYTE ((Handle)&ompi_mpi_byte)
#define INT ((Handle)&ompi_mpi_int)
#define SUM ((Handle)&ompi_mpi_op_sum)
enum { APPNUM = 4, MULTIPLE = 3 };
#elif defined(STANDARD)
typedef void* Handle;
#define WORLD ((Handle)0x101)
#define BYTE ((Handle)0x247)
#define INT ((Handle)0x209)
#define SUM ((Handle)0x21)
enum { APPNUM = 505, MULTIPLE = 4096 };
#else
typedef int Handle;
#define WORLD ((Handle)0x44000000)
#define BYTE ((Handle)0x4c00010d)
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
int MPI_Send(const void*, int, Handle, int, int, Handle);
int MPI_Recv(void*, int, Handle, int, int, Handle, void*);
int MPI_Iprobe(int, int, Handle, int*, void*);
int MPI_Finalize(void);

/* The communicator of the program's own processes, beside workers. */
static Handle started(int* count, char*** words) {
  int level = 0, *application = (int*)0, is_there = 0;
  Handle mine;
  MPI_Init_thread(count, words, LEVEL, &level);
  MPI_Comm_get_attr(WORLD, APPNUM, &application, &is_there);
  MPI_Comm_split(WORLD, is_there ? *application : 0, 0, &mine);
  return mine;
}
