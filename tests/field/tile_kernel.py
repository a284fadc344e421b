# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the bytecode of a kernel by CUDA Tile's compiler, which needs no GPU for that.

Usage: python tile_kernel.py OUT   (the package cuda-tile has to be on PYTHONPATH)
"""

from __future__ import annotations

import sys

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    export_kernel,
)


@ct.kernel
def doubled(a):  # type: ignore[no-untyped-def]
    block = ct.bid(0)
    ct.store(a, index=(block,), tile=ct.load(a, index=(block,), shape=(16,)) * 2)


array = ArrayConstraint(
    ct.float32,
    1,
    index_dtype=ct.int32,
    stride_lower_bound_incl=0,
    alias_groups=(),
    may_alias_internally=False,
)
signature = KernelSignature([array], CallingConvention.cutile_python_v1())
export_kernel(
    doubled, [signature], sys.argv[1], output_format="tileir_bytecode", bytecode_version="13.3"
)
