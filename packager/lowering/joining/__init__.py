# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bitcode of one program's files -> one device image: what a link does, by LLVM.

It is code of a compiler's, which has its own device libraries: nothing of `library/` or
`rewriting/`, which are for portable kernels, is done to it.
"""
