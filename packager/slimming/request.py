# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A request to slim files, as a command makes it."""

from __future__ import annotations

from packager.records import NamedTuple
from packager.slimming.keeps import Kept


class Request(NamedTuple):
    """What stays, and how the rest goes."""

    kept: tuple[Kept, ...]  # GPUs
    keep_ptx: bool = False  # PTX stays also where a cubin serves each kept GPU
    zero: bool = False  # removed bytes become zeros, and files keep their sizes
    is_dry: bool = False  # nothing is written
