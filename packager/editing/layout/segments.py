# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New segments: the parts in them, and the place of each."""

from __future__ import annotations

from collections.abc import Iterable

from packager.editing.linked import DATA_MARK, REST_MARK
from packager.editing.plan import NewSegment, Part
from packager.elf.headers import PT_LOAD, Segment
from packager.files.copying import BLOCK
from packager.records import NamedTuple
from packager.writers.elf_types import SHF_ALLOC, SHF_WRITE

PF_X, PF_W, PF_R = 1, 2, 4
FLAGS: dict[NewSegment, int] = {
    "fixed": PF_R | PF_W, "code": PF_R | PF_X, "data": PF_R | PF_W, "rest": PF_R
}  # fmt: skip
MARK = b"omptool edit 1\0\0"


class Place(NamedTuple):
    """The place of a part: its address, and its offset in the file."""

    address: int
    offset: int


class Group(NamedTuple):
    """A segment to be: its parts in their order."""

    segment: NewSegment
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """Return the size in the file of a group without parts that begin at a block."""
        return self.row(self.placed(0, 0), 1).file_size

    def behind(self, load: Segment) -> int:
        """Return the file offset of the group if it is placed behind a segment."""
        return aligned(load.end, max(part.alignment for part in self.parts))

    def placed(self, address: int, offset: int) -> dict[Part, Place]:
        """Return the place of each part, from `address` on, where a page begins."""
        found: dict[Part, Place] = {}
        at = 0
        for part in self.parts:
            at = aligned(at, part.alignment)
            if part.lead is not None:
                at = aligned(offset + at + part.lead, BLOCK) - part.lead - offset
            found[part] = Place(address + at, offset + at)
            at += part.size
        return found

    def row(self, places: dict[Part, Place], page: int) -> Segment:
        """Return the program header of the segment, which begins at a page."""
        first, last = self.parts[0], self.parts[-1]
        address, offset = places[first]
        size = places[last].address + last.size - address
        flags = FLAGS[self.segment]
        return Segment(PT_LOAD, flags, offset, address, address, size, size, page)


def grouped(parts: Iterable[Part]) -> list[Group]:
    """Return the segments that these parts need. Two of them begin with a mark."""
    marks = (
        Part("data", DATA_MARK, (MARK,), 16, flags=SHF_ALLOC | SHF_WRITE),
        Part("rest", REST_MARK, (MARK,), 16, flags=SHF_ALLOC),
    )
    found: dict[NewSegment, list[Part]] = {segment: [] for segment in FLAGS}
    for part in parts:
        found[part.segment].append(part)
    groups = []
    for segment, members in found.items():
        if members:
            mark = (mark for mark in marks if mark.segment == segment)
            groups.append(Group(segment, (*mark, *members)))
    return groups


def aligned(value: int, alignment: int) -> int:
    """Round `value` up to a multiple of `alignment`."""
    return -(-value // alignment) * alignment if alignment > 1 else value
