# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM IR -> device image.

`lower` runs LLVM in a child process (`worker`), because LLVM inside llvmlite can abort on bad
input, and links the result if needed. `targets.families` lists the targets, one module each.
"""
