// Stands in for the device library of clang 23, which no distribution has: what kernels call, and nothing behind it.
typedef void* Ident;

int __kmpc_target_init(void* environment, void* launch) { return -1; }
void __kmpc_target_deinit(void) {}
void __kmpc_distribute_static_init_4(Ident i, int t, int schedule, int* last, int* low, int* up, int* step, int by, int chunk) {}
void __kmpc_distribute_static_fini(Ident i, int t) {}
void __kmpc_for_static_init_4(Ident i, int t, int schedule, int* last, int* low, int* up, int* step, int by, int chunk) {}
void __kmpc_for_static_fini(Ident i, int t) {}
void __kmpc_parallel_60(Ident i, int t, int is, int n, int bind, void* f, void* g, void** a, long count, int strict) {}
int __kmpc_global_thread_num(Ident i) { return 0; }
int __kmpc_get_warp_size(void) { return 32; }
long __kmpc_shuffle_int64(long value, short delta, short size) { return value; }
int __kmpc_get_hardware_thread_id_in_block(void) { return 0; }
int __kmpc_get_hardware_num_threads_in_block(void) { return 1; }
void __kmpc_barrier(Ident i, int t) {}
void __kmpc_barrier_simple_spmd(Ident i, int t) {}
int __kmpc_nvptx_parallel_reduce_nowait_v2(Ident i, long size, void* data, void* shuffle, void* copy) { return 1; }
void __kmpc_get_shared_variables(void*** shared) { *shared = 0; }
