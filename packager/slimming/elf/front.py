# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Room for more program headers in front, where strip and objcopy write them.

Notes and the name of the interpreter slide, so that the build-id stays in the first page. Tables
of the loader that are in the way move into bytes that containers have left.
"""

from __future__ import annotations

from collections.abc import Sequence

from packager.editing.layout.room import is_movable
from packager.editing.layout.segments import aligned
from packager.editing.linked import LinkedFile
from packager.elf.headers import PROGRAM_HEADER, PT_INTERP, PT_LOAD, SHT_NOTE, Section
from packager.errors import UsageError
from packager.records import NamedTuple
from packager.slimming.elf.zeros import is_left_behind

SLIDE = 16  # alignment of the distance
TABLE = 8  # least alignment of a table that moves


class Move(NamedTuple):
    """A section and its new place: offset in the file before the cut, and address."""

    section: Section
    offset: int
    address: int
    is_slid: bool = False  # shifted by `Front.distance`, near the start of the file


class Front(NamedTuple):
    """The sections that make room for program headers."""

    slid: tuple[Section, ...] = ()
    distance: int = 0  # distance by which `slid` move
    moved: tuple[Section, ...] = ()

    @property
    def size(self) -> int:
        """Return the most bytes that the moved sections need."""
        return sum(section.size + _alignment(section) for section in self.moved) + SLIDE

    def moves(self, end: int, distance: int) -> list[Move]:
        """Place the moved sections in front of `end`.

        `distance` is the difference of addresses and offsets there.
        """
        found = [
            Move(s, s.offset + self.distance, s.address + self.distance, is_slid=True)
            for s in self.slid
        ]
        at = self.begin(end)
        for section in self.moved:
            at = aligned(at + distance, _alignment(section)) - distance
            found.append(Move(section, at, at + distance))
            at += section.size
        return found

    def begin(self, end: int) -> int:
        """Return where the moved sections begin if they end before `end`."""
        return (end - self.size) // SLIDE * SLIDE if self.moved else end


def find_front(file: LinkedFile, count: int) -> Front:
    """Return the sections that move for `count` program headers.

    Raises UsageError if other sections are in the way.
    """
    first, end = file.segments_at, file.segments_at + count * PROGRAM_HEADER.size
    behind = sorted(
        (s for s in file.sections if s.has_bytes and s.size and s.offset + s.size > first),
        key=lambda s: s.offset,
    )
    sliding = [s for s in behind if _slides(file, s)]
    slid = _slid(sliding, behind, end)
    distance = 0
    if slid:
        step = max(SLIDE, *(s.alignment for s in slid))
        distance = aligned(end - slid[0].offset, step)
        end = slid[-1].offset + slid[-1].size + distance
    moved = tuple(s for s in behind if s.offset < end and s not in slid)
    for section in moved:
        if not is_movable(file, section) or section in sliding:
            raise UsageError(f"section {section.name} is in the way of program headers")
        if section.alignment > file.machine.page:
            raise UsageError(f"section {section.name} is aligned to {section.alignment} bytes")
    _expect_free(file, (*slid, *moved), end)
    _expect_known(file, (*slid, *moved))
    return Front(slid, distance, moved)


def _slid(sliding: Sequence[Section], behind: Sequence[Section], end: int) -> tuple[Section, ...]:
    """Return the block of notes at the beginning of the file, if headers up to `end` reach it."""
    if not sliding or sliding[0].offset >= end:
        return ()
    at = behind.index(sliding[0])
    block = []
    for section in behind[at:]:
        if section not in sliding:
            break
        block.append(section)
    return tuple(block)


def _slides(file: LinkedFile, section: Section) -> bool:
    if not section.is_allocated:
        return False
    is_interpreter = any(s.type == PT_INTERP and s.offset == section.offset for s in file.segments)
    return section.type == SHT_NOTE or is_interpreter


def _expect_free(file: LinkedFile, known: Sequence[Section], end: int) -> None:
    """Raise UsageError unless program headers up to `end` replace only known sections."""
    front = file.front
    if front is None or end > front.end:
        raise UsageError("the first segment has no room for program headers")
    at = file.segments_at + len(file.elf.segments) * PROGRAM_HEADER.size
    for section in (*known, None):
        start = end if section is None else min(section.offset, end)
        if start > at and not is_left_behind(file.data, at, start):
            raise UsageError(f"bytes at {at:#x} are in the way of program headers")
        at = max(at, start if section is None else section.offset + section.size)


def _expect_known(file: LinkedFile, moved: Sequence[Section]) -> None:
    """Raise UsageError for a program header that cannot follow a moved section."""
    starts = {section.address for section in moved}
    for segment in file.elf.segments:
        if segment.type == PT_LOAD or segment.address in starts:
            continue
        begin, end = segment.offset, segment.end
        if any(begin < s.offset + s.size and s.offset < end for s in moved):
            raise UsageError(f"the segment at {begin:#x} begins in front of its section")


def _alignment(section: Section) -> int:
    return max(TABLE, section.alignment)
