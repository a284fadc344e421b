# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Remove rows from tables that register images with SYCL's runtime."""
