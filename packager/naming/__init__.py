# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of kernels and regions, as compilers mangle them and as users write them."""
