# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare kernels of one name in several objects, of which a linker keeps one.

Two kernels are equal if their code and the code of all functions that they reach are equal, except
for addresses and a compiler's numbering. `objects` compares machine code, `modules` LLVM IR.
"""
