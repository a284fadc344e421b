"""The device library: what portable kernels may call, as LLVM IR."""
