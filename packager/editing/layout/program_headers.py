# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program headers after an edit."""

from __future__ import annotations

from packager.editing.layout.placing import Placed
from packager.editing.linked import LinkedFile
from packager.editing.plan import Part
from packager.elf.headers import PROGRAM_HEADER, PT_DYNAMIC, PT_LOAD, Segment

PT_PHDR = 6


def program_headers(file: LinkedFile, placed: Placed, dynamic: Part | None) -> list[Segment]:
    """Return the program headers; `dynamic` is the dynamic table, if it is a new part."""
    count = len(file.kept) + len(placed.added)
    rows = [_changed(row, placed, dynamic, count * PROGRAM_HEADER.size) for row in file.kept]
    last = max(n for n, row in enumerate(rows) if row.type == PT_LOAD)
    return [*rows[: last + 1], *placed.added, *rows[last + 1 :]]


def _changed(row: Segment, placed: Placed, dynamic: Part | None, size: int) -> Segment:
    if row.type == PT_PHDR:
        return row._replace(file_size=size, memory_size=size)
    if row.type == PT_LOAD:
        return placed.longer.get(row, row)
    if not row.file_size:
        return row
    if row.type == PT_DYNAMIC and dynamic is not None:
        row = row._replace(file_size=dynamic.size, memory_size=dynamic.size)
        address, offset = placed.places[dynamic]
    else:
        moved = placed.moves.address(row.address, row.file_size)
        if moved is None:
            return row
        address, offset = moved, placed.moves.offset(row.address) or 0
    return row._replace(offset=offset, address=address, physical=address)
