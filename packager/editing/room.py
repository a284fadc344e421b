"""Room for more program headers, which stand in front of all else in the file.

The loader wants them in the first segment, and binutils writes them right behind the ELF header. So
what follows them makes room: sections that only program headers and the dynamic table point to.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from packager.editing.linked import LinkedFile
from packager.editing.parts import aligned
from packager.elf.headers import (
    PROGRAM_HEADER,
    PT_INTERP,
    SHT_DYNSYM,
    SHT_GNU_VERNEED,
    SHT_GNU_VERSYM,
    SHT_NOTE,
    SHT_RELA,
    SHT_STRTAB,
    Section,
)

SHT_HASH, SHT_RELR, SHT_GNU_HASH, SHT_GNU_VERDEF = 5, 19, 0x6FFFFFF6, 0x6FFFFFFD
ALIGNMENT = 16  # of what follows
MOVABLE = frozenset(
    (
        SHT_NOTE, SHT_HASH, SHT_RELR, SHT_GNU_HASH, SHT_DYNSYM, SHT_STRTAB, SHT_GNU_VERSYM,
        SHT_GNU_VERNEED, SHT_GNU_VERDEF, SHT_RELA,
    )
)  # fmt: skip


class Room(NamedTuple):
    """What makes room for program headers: sections that move, and some whose bytes are gone."""

    moved: Sequence[Section]
    cut: Sequence[Section]
    end: int  # of what may be overwritten


def room(file: LinkedFile, count: int, empty: Collection[int]) -> Room | None:
    """How to make room for `count` program headers; None if a section in the way cannot move.

    `empty` are the numbers of sections that nothing points to.
    """
    start = file.segments_at
    end = aligned(start + count * PROGRAM_HEADER.size, ALIGNMENT)
    behind = sorted(
        (s for s in file.sections if s.has_bytes and s.size and s.offset + s.size > start),
        key=lambda s: s.offset,
    )
    moved: list[Section] = []
    cut: list[Section] = []
    for section in behind:
        if section.offset >= end and not _splits(file, section.offset, moved):
            break
        if section.number in empty:
            cut.append(section)
        elif _is_movable(file, section):
            moved.append(section)
            end = max(end, section.offset + section.size)
        else:
            return None
    first = next((s for s in file.loads if s.offset <= start < s.end), None)
    if first is None or end > first.end or first in file.own:
        return None
    return Room(moved, cut, end)


def _splits(file: LinkedFile, offset: int, moved: Sequence[Section]) -> bool:
    """Whether a segment of its own kind has some sections before `offset` and some behind."""
    starts = {s.offset for s in moved}
    return any(
        segment.offset < offset < segment.end
        and any(segment.offset <= start < offset for start in starts)
        for segment in file.segments
        if segment not in file.loads and segment.file_size
    )


def _is_movable(file: LinkedFile, section: Section) -> bool:
    if not section.is_allocated:
        return False
    if section.type in MOVABLE:
        return True
    return any(s.type == PT_INTERP and s.offset == section.offset for s in file.segments)
