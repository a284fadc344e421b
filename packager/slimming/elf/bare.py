# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are nothing but containers, end to end: each moves up to the one before."""

from __future__ import annotations

from collections.abc import Sequence

from packager.slimming.elf.holes import Hole, Holes
from packager.slimming.elf.packing import size_of
from packager.slimming.pieces import Rewritten


def holes_between(containers: Sequence[Rewritten], size: int) -> Holes | None:
    """Return the free bytes of a file of `size` bytes; None where it holds anything else.

    A container keeps its alignment, and the last one ends the file.
    """
    found: list[Hole] = []
    at = 0
    last = max(len(containers) - 1, 0)
    unit = max((one.alignment for one in containers), default=1)
    for number, one in enumerate(containers):
        if one.offset != at:
            return None
        at += one.size
        unit = 1 if number == last else unit
        free = (one.size - size_of(one)) // unit * unit
        if free:
            found.append(Hole(at - free, at))
    return Holes(found) if at == size else None
