/* Stands in for CUDA's driver: its answers are -D options. GCC 14's plugin looks up all functions first. */
int cuInit(unsigned flags) { return CODE; }
int cuDeviceGetCount(int *count) { *count = COUNT; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? MAJOR : 5;
  return 0;
}

#define NONE(name) int name(void) { return 999; }
NONE(cuCtxCreate_v2) NONE(cuCtxDestroy_v2) NONE(cuCtxGetCurrent) NONE(cuCtxGetDevice)
NONE(cuCtxPopCurrent_v2) NONE(cuCtxPushCurrent_v2) NONE(cuCtxSynchronize) NONE(cuDeviceGet)
NONE(cuDeviceGetName) NONE(cuDeviceTotalMem_v2) NONE(cuDriverGetVersion) NONE(cuEventCreate)
NONE(cuEventDestroy_v2) NONE(cuEventElapsedTime) NONE(cuEventQuery) NONE(cuEventRecord)
NONE(cuEventSynchronize) NONE(cuFuncGetAttribute) NONE(cuGetErrorString) NONE(cuLaunchKernel)
NONE(cuLinkAddData) NONE(cuLinkAddData_v2) NONE(cuLinkComplete) NONE(cuLinkCreate)
NONE(cuLinkCreate_v2) NONE(cuLinkDestroy) NONE(cuMemAllocHost_v2) NONE(cuMemAlloc_v2)
NONE(cuMemFreeHost) NONE(cuMemFree_v2) NONE(cuMemGetAddressRange_v2) NONE(cuMemGetInfo_v2)
NONE(cuMemHostAlloc) NONE(cuMemHostGetDevicePointer_v2) NONE(cuMemcpy) NONE(cuMemcpy2DUnaligned_v2)
NONE(cuMemcpy2D_v2) NONE(cuMemcpy3D_v2) NONE(cuMemcpyDtoDAsync_v2) NONE(cuMemcpyDtoHAsync_v2)
NONE(cuMemcpyDtoH_v2) NONE(cuMemcpyHtoDAsync_v2) NONE(cuMemcpyHtoD_v2) NONE(cuModuleGetFunction)
NONE(cuModuleGetGlobal_v2) NONE(cuModuleLoad) NONE(cuModuleLoadData) NONE(cuModuleUnload)
NONE(cuOccupancyMaxPotentialBlockSize) NONE(cuStreamAddCallback) NONE(cuStreamCreate)
NONE(cuStreamDestroy_v2) NONE(cuStreamQuery) NONE(cuStreamSynchronize) NONE(cuStreamWaitEvent)
