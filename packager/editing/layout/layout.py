# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout of a result: which bytes stand where. Nothing is written here.

The file's bytes keep their values and their addresses, except where the plan says otherwise: it
patches fields, drops images, and moves sections that are in the way of program headers. New
segments are behind all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.editing.layout import dynamic_table
from packager.editing.layout.moves import Move, blocks, taken
from packager.editing.layout.placing import place
from packager.editing.layout.relocated import new_rows, new_table, tags
from packager.editing.layout.result import Layout, Tables, result
from packager.editing.layout.room import Front, Room, find_room
from packager.editing.layout.segments import grouped
from packager.editing.linked import REMOVED_SECTION, LinkedFile
from packager.editing.plan import Hole, Plan
from packager.elf.headers import Section


def lay_out(file: LinkedFile, plan: Plan) -> Layout:
    """Place every new part of a plan in the file. Raises UsageError where the file lacks room."""
    carried = list(_carried(file, plan))
    rows = new_rows(file, plan)
    relocations = new_table(file, rows)
    if relocations:
        plan = plan._replace(tags=(*plan.tags, *tags(file, rows, relocations)))
    tables = Tables(rows, relocations, dynamic_table.new_dynamic(file, plan))
    blocks_first = [move.part for move in reversed(carried)]
    parts = [relocations, *blocks_first, *plan.parts, tables.dynamic]
    room = find_room(file, grouped(part for part in parts if part), _empty(file, plan))
    moved = _moved(file, room)
    moves = [*_moves(file, plan, tables, carried), *moved]
    placed = place(file, _with(room, moved), moves)
    holes = [*plan.holes, *_overwritten(room.front)]
    return result(file, plan._replace(holes=tuple(holes)), placed, tables)


def _carried(file: LinkedFile, plan: Plan) -> Iterator[Move]:
    """Keep sections that an earlier edit moved into its segments, which this edit drops."""
    rewritten = [part.takes for part in plan.parts if part.takes]

    def stays_behind(section: Section) -> bool:
        if section.name.startswith(".omptool.") or section.type == dynamic_table.SHT_DYNAMIC:
            return True
        return section.address == file.relocations.address or section in rewritten

    dropped = [section for section in file.sections if file.dropped(section) and section.size]
    return blocks(file, sorted(dropped, key=lambda s: s.address), stays_behind)


def _empty(file: LinkedFile, plan: Plan) -> set[int]:
    """Return the numbers of sections that nothing refers to."""
    names = {section.number: section.name for section in file.sections} | dict(plan.renamed)
    return {number for number, name in names.items() if name.startswith(REMOVED_SECTION)}


def _moved(file: LinkedFile, room: Room) -> list[Move]:
    """Return the sections that move to make room, without those that are rewritten."""
    rewritten = [part.takes for group in room.groups for part in group.parts if part.takes]
    return list(blocks(file, room.front.moved, rewritten.__contains__))


def _with(room: Room, moved: Sequence[Move]) -> Room:
    """Put blocks into the last group, behind its mark."""
    if not moved:
        return room
    last = room.groups[-1]
    parts = (last.parts[0], *(move.part for move in reversed(moved)), *last.parts[1:])
    return room._replace(groups=(*room.groups[:-1], last._replace(parts=parts)))


def _moves(file: LinkedFile, plan: Plan, tables: Tables, carried: Sequence[Move]) -> Iterator[Move]:
    yield from (taken(part) for part in plan.parts if part.takes)
    yield from carried
    old = file.relocations
    if tables.relocations and old.size:
        yield Move(old.address, old.address + old.size, tables.relocations)
    if tables.dynamic:
        yield taken(tables.dynamic)


def _overwritten(front: Front) -> Iterator[Hole]:
    gone = [section.offset for section in (*front.moved, *front.cut)]
    if gone:
        yield Hole(min(gone), front.end - min(gone))
