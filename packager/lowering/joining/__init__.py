# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link bitcode of one program's files to one device image, like a linker, by LLVM.

The code is a compiler's, with its own device libraries. `library/` and `rewriting/` are for
portable kernels and not applied.
"""
