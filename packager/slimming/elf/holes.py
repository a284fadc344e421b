# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the pages to cut out of the file: free ranges that the loader does not need."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from packager.editing.layout.segments import aligned
from packager.editing.linked import LinkedFile
from packager.elf.headers import (
    HEADER,
    PROGRAM_HEADER,
    PT_LOAD,
    SECTION_HEADER,
    Segment,
)
from packager.errors import UsageError
from packager.records import NamedTuple
from packager.slimming.elf.zeros import is_zero

PT_GNU_RELRO = 0x6474E552


class Hole(NamedTuple):
    """A range of the file that the result lacks."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Return the number of bytes to remove."""
        return self.end - self.start


class Cut(NamedTuple):
    """A hole, and the segment that ends in front of it, if that becomes shorter."""

    hole: Hole
    load: Segment
    stop: int | None = None  # new end of the segment; None: it continues behind the hole


class Holes:
    """The holes of a file, and the new places of everything else."""

    def __init__(self, holes: Sequence[Hole]) -> None:
        self.rows = sorted(holes)
        self._starts = [hole.start for hole in self.rows]
        self._gone = [0, *accumulate(hole.size for hole in self.rows)]

    def place(self, offset: int) -> int:
        """Return where in the result the byte at an offset is."""
        number = bisect_right(self._starts, offset)
        if number and offset < self.rows[number - 1].end:
            return self.rows[number - 1].start - self._gone[number - 1]
        return offset - self._gone[number]

    def size(self) -> int:
        """Return the number of bytes that are cut out."""
        return self._gone[-1]

    def kept(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of a range that are in no hole."""
        found = []
        first = max(bisect_right(self._starts, start) - 1, 0)
        for number in range(first, len(self.rows)):
            hole = self.rows[number]
            if end <= hole.start:
                break
            if hole.end <= start:
                continue
            if start < hole.start:
                found.append((start, hole.start))
            start = hole.end
        return [*found, (start, end)] if start < end else found


def find_cut(file: LinkedFile, start: int, end: int, used: Sequence[tuple[int, int]]) -> Cut:
    """Return the hole for a free range of one segment; `used` are the ranges with contents.

    Raises UsageError where the loader needs the range.
    """
    loads = (s for s in file.elf.segments if s.type == PT_LOAD and s.offset <= start < s.end)
    load = next(loads, None)
    if load is None or start >= end:
        raise UsageError("less than a page is free")
    start, end = _widened(file, load, start, end, used)
    stop = None
    if end == load.end and load.file_size == load.memory_size:
        stop = start
        end = _next_used(file, load, end, used)
    unit = _unit(file, start)
    hole = Hole(aligned(start, unit), end // unit * unit)
    if hole.size <= 0:
        raise UsageError("less than a page is free")
    _expect_unneeded(file, load, hole, used)
    return Cut(hole, load, stop)


def used_ranges(file: LinkedFile) -> list[tuple[int, int]]:
    """Return the ranges of the file with sections and headers, by offset."""
    elf = file.elf
    segments_end = file.segments_at + len(elf.segments) * PROGRAM_HEADER.size
    sections_end = elf.sections_at + len(file.sections) * SECTION_HEADER.size
    found = [(0, HEADER.size), (file.segments_at, segments_end), (elf.sections_at, sections_end)]
    found += [(s.offset, s.offset + s.size) for s in file.sections if s.has_bytes and s.size]
    return sorted(found)


def _widened(
    file: LinkedFile, load: Segment, start: int, end: int, used: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Widen a range over zeros on both sides that no section has.

    strip breaks a segment without a section.
    """
    before = max([load.offset, *(stop for _, stop in used if stop <= start)])
    behind = min([load.end, *(begin for begin, _ in used if begin >= end)])
    if is_zero(file.data, before, start):
        start = before
    if is_zero(file.data, end, behind):
        end = behind
    return start, end


def _next_used(file: LinkedFile, load: Segment, end: int, used: Sequence[tuple[int, int]]) -> int:
    """Return the end of the unused bytes behind a segment."""
    starts = [begin for begin, _ in used if begin >= end]
    starts += [s.offset for s in file.elf.segments if s.file_size and s.offset >= end]
    if any(s.offset < end < s.end for s in file.elf.segments if s != load):
        return end
    found = min(starts, default=end)
    return found if is_zero(file.data, end, found) else end


def _unit(file: LinkedFile, start: int) -> int:
    """Return the unit of a hole, which keeps the alignment of later bytes in the file."""
    sections = (s for s in file.sections if s.is_allocated and s.has_bytes and s.offset >= start)
    unit = max([file.machine.page, *(s.alignment for s in sections)])
    if unit % file.machine.page:
        raise UsageError(f"a section is aligned to {unit} bytes, which is no multiple of a page")
    return unit


def _expect_unneeded(
    file: LinkedFile, load: Segment, hole: Hole, used: Sequence[tuple[int, int]]
) -> None:
    """Raise UsageError if anything but the containers of a section uses the hole."""
    distance = load.address - load.offset
    low, high = hole.start + distance, hole.end + distance
    page = file.machine.page
    for segment in file.elf.segments:
        if segment == load or not segment.memory_size:
            continue
        start, end = segment.address, segment.memory_end
        if segment.type == PT_GNU_RELRO:
            start, end = start // page * page, aligned(end, page)
        if start < high and low < end and not _is_behind(segment, load, hole):
            name = "PT_GNU_RELRO" if segment.type == PT_GNU_RELRO else "another segment"
            raise UsageError(f"{name} has the free bytes, too")
        if segment.file_size and segment.offset < hole.end and hole.start < segment.end:
            raise UsageError("another segment has the free bytes, too")
    if any(start < hole.end and hole.start < end for start, end in used):
        raise UsageError("a section or header has the free bytes, too")


def _is_behind(segment: Segment, load: Segment, hole: Hole) -> bool:
    """Return whether a hole continues behind its segment, at addresses of another one."""
    return segment.offset >= load.end and segment.offset >= hole.end
