# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correct modules of older releases that LLVM upgrades wrongly."""

from __future__ import annotations

import re

from llvmlite import binding as llvm

from packager.triples import code_of

_HEAD = re.compile(r"^((?:define|declare) [^@\n]*?\b)ptx_kernel ", re.MULTILINE)


def corrected(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """Return the module; for AMD's GPUs, with kernels in AMD's calling convention.

    Clang up to 19 marks them as kernels by NVIDIA's metadata, which LLVM 22 turns into NVIDIA's
    calling convention.
    """
    if code_of(str(module.triple)) != "amdgcn":
        return module
    text, count = _HEAD.subn(r"\1amdgpu_kernel ", str(module))
    return llvm.parse_assembly(text) if count else module
