# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The places of all new parts: addresses, and offsets in the file."""

from __future__ import annotations

from collections.abc import Sequence

from packager.editing.layout.moves import Move, Moved, Moves
from packager.editing.layout.room import Longer, Room
from packager.editing.layout.segments import Group, Place, aligned
from packager.editing.linked import LinkedFile
from packager.editing.plan import Address, Part
from packager.elf.headers import Segment
from packager.errors import UsageError
from packager.records import NamedTuple


class Placed(NamedTuple):
    """The new segments with their places, and the moved sections."""

    room: Room
    places: dict[Part, Place]
    added: Sequence[Segment]
    longer: dict[Segment, Segment]  # segments that were there, and what becomes of them
    end: int  # end in the file
    moves: Moves

    @property
    def parts(self) -> list[Part]:
        """Return all new parts, in the order of their segments."""
        return [part for group in self.room.groups for part in group.parts]

    def value(self, address: Address) -> int:
        """Return the address as a number."""
        start = self.places[address.part].address if address.part else 0
        return start + address.offset


def place(file: LinkedFile, room: Room, moves: Sequence[Move]) -> Placed:
    """Give every part its place: in a segment of its own, or in one that becomes longer."""
    longer = room.longer
    places = _in_longer(file, room.groups, longer) if longer else _behind(file, room.groups)
    rows = [group.row(places, file.machine.page) for group in room.groups]
    end = max((row.memory_end for row in (*file.kept_loads, *rows)), default=0)
    if end > file.machine.most:
        raise UsageError(f"has segments up to {end:#x}: there is no room behind them")
    moved = [
        Moved(start, end, places[part].address + inside, places[part].offset + inside)
        for start, end, part, inside in moves
    ]
    return Placed(
        room,
        places,
        () if longer else rows,
        _longer(room.groups, rows, longer) if longer else {},
        max((row.end for row in rows), default=file.cut),
        Moves(moved),
    )


def _behind(file: LinkedFile, groups: Sequence[Group]) -> dict[Part, Place]:
    """Return the places of parts in new segments, behind all others."""
    places: dict[Part, Place] = {}
    page = file.machine.page
    address = max((load.memory_end for load in file.kept_loads), default=0)
    offset = file.cut
    for group in groups:
        places |= group.placed(aligned(address, page), aligned(offset, page))
        row = group.row(places, page)
        address, offset = row.memory_end, row.end
    return places


def _in_longer(file: LinkedFile, groups: Sequence[Group], longer: Longer) -> dict[Part, Place]:
    """Return the places of parts at the ends of existing segments, after zero-filled memory."""
    places: dict[Part, Place] = {}
    end = longer.data.memory_end
    for group in groups:
        if group.segment == "code" and longer.code:
            start = group.behind(longer.code)
            places |= group.placed(longer.code.address + start - longer.code.offset, start)
        else:
            end = aligned(end, file.machine.page)
            places |= group.placed(end, longer.data.offset + end - longer.data.address)
            end = group.row(places, file.machine.page).memory_end
    return places


def _longer(
    groups: Sequence[Group], rows: Sequence[Segment], longer: Longer
) -> dict[Segment, Segment]:
    """Return the program headers of extended segments: old to new."""
    found: dict[Segment, Segment] = {}
    for group, row in zip(groups, rows, strict=True):
        load = (longer.code if group.segment == "code" else None) or longer.data
        size = row.memory_end - load.address
        found[load] = load._replace(file_size=size, memory_size=size)
    return found
