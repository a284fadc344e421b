# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dynamic table after an edit."""

from __future__ import annotations

from packager.editing.layout.placing import Placed
from packager.editing.linked import DynamicTable, LinkedFile
from packager.editing.plan import Address, Later, Part, Plan
from packager.elf.headers import DT_NEEDED, DYNAMIC
from packager.errors import UsageError
from packager.writers.elf_types import SHF_ALLOC, SHF_WRITE

SHT_DYNAMIC = 6
# Tags whose values are addresses that may move.
ADDRESSES = frozenset((4, 5, 6, 7, 17, 23, 36, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE))


def new_dynamic(file: LinkedFile, plan: Plan) -> Part | None:
    """Return the part for the dynamic table; None if there is room for it where it is."""
    table = file.dynamic
    if table is None:
        if plan.tags or plan.needed:
            raise UsageError("is static: nothing would relocate or load what is added")
        return None
    new = dict(plan.tags).keys() - dict(table.rows).keys()
    count = len(table.rows) + len(plan.needed) + len(new) + 1
    own = next((s for s in file.sections if s.type == SHT_DYNAMIC), None)
    if count <= table.capacity and not (own and file.dropped(own)):
        return None
    if own is None:
        raise UsageError("has a dynamic table without a section header")
    size = max(count, table.capacity) * DYNAMIC.size
    flags = SHF_ALLOC | SHF_WRITE
    return Part("data", own.name, (Later(size),), 16, SHT_DYNAMIC, flags, DYNAMIC.size, takes=own)


def content(table: DynamicTable, plan: Plan, placed: Placed, part: Part | None) -> bytes:
    """Return the bytes of the dynamic table: in `part`, or in its present place."""
    tags = {tag: _value(value, placed) for tag, value in plan.tags}
    rows = []
    for tag, value in table.rows:
        if tag in tags:
            rows.append((tag, tags[tag]))
        elif tag in ADDRESSES:
            rows.append((tag, placed.moves.address(value) or value))
        else:
            rows.append((tag, value))
    known = {tag for tag, _ in table.rows}
    size = part.size if part else table.capacity * DYNAMIC.size
    # The loader searches needed libraries in this order, so new ones come last.
    last = max((n + 1 for n, row in enumerate(rows) if row[0] == DT_NEEDED), default=0)
    rows[last:last] = [(DT_NEEDED, name) for name in plan.needed]
    rows += [(tag, value) for tag, value in tags.items() if tag not in known]
    return b"".join(DYNAMIC.pack(tag, value) for tag, value in rows).ljust(size, b"\0")


def _value(value: int | Address, placed: Placed) -> int:
    return placed.value(value) if isinstance(value, Address) else value
