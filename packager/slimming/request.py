# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A request to slim files, as a command makes it."""

from __future__ import annotations

from packager.records import NamedTuple
from packager.slimming.keeps import Kept


class Request(NamedTuple):
    """The devices whose code stays, and the way in which all other code goes."""

    keeps: tuple[Kept, ...]
    keep_ptx: bool = False  # PTX stays also where a cubin serves each kept GPU
    zero: bool = False  # removed bytes become zeros, and files keep their sizes
    is_dry: bool = False  # nothing is written
