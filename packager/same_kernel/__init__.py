# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of one name in several objects: whether they are the same code, for a linker keeps one.

Two kernels are the same if their code is, and that of the functions that they lead to, without what
depends on where these are and on how a compiler numbers them. `objects` compares machine code,
`modules` LLVM's IR.
"""
