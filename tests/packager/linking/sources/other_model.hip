// A kernel of HIP's, without HIP's headers: its object registers it by itself.
struct dim3 {
  unsigned x, y, z;
};
typedef int hipError_t;
typedef void *hipStream_t;
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long,
                                      hipStream_t);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void *);

__attribute__((global)) void kernel(int *result) { *result = 3; }
