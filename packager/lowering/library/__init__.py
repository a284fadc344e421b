# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device library: what portable kernels may call, as LLVM IR."""
