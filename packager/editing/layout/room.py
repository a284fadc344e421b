# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Room for more program headers, which stand in front of all else in the file.

The loader wants them in the first segment, and binutils writes them right behind the ELF header.
There are two ways to make room:

- What follows them moves: sections that only program headers and the dynamic table point to.
  Debian's bash needs this, and most other files.
- Segments that are there become longer. The library librt of mypy's wheel needs this: it begins
  with code. numpy's lapack_lite needs it, too: patchelf has put a last segment into it, and takes
  everything out of that segment again if it can add another one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from packager.editing.linked import LinkedFile, ProgramHeader
from packager.editing.parts import PAGE, Group, aligned
from packager.elf.headers import (
    PROGRAM_HEADER,
    PT_INTERP,
    SHT_DYNSYM,
    SHT_GNU_VERNEED,
    SHT_GNU_VERSYM,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_RELA,
    SHT_STRTAB,
    Section,
)

SHT_HASH, SHT_RELR, SHT_GNU_HASH, SHT_GNU_VERDEF = 5, 19, 0x6FFFFFF6, 0x6FFFFFFD
MOVABLE = frozenset(
    (
        SHT_NOTE, SHT_HASH, SHT_RELR, SHT_GNU_HASH, SHT_DYNSYM, SHT_STRTAB, SHT_GNU_VERSYM,
        SHT_GNU_VERNEED, SHT_GNU_VERDEF, SHT_RELA,
    )
)  # fmt: skip
PF_X, PF_W = 1, 2
SHF_TLS = 0x400
MOST_ZEROS = 16 << 20  # bytes of .bss that become part of the file


class Longer(NamedTuple):
    """Segments that become longer, and what is put into them."""

    data: ProgramHeader
    data_groups: Sequence[Group]
    code: ProgramHeader | None
    code_group: Group | None

    def place(self) -> None:
        """Give every part its address."""
        data = self.data
        end = data.memory_end
        for group in self.data_groups:
            end = aligned(end, PAGE)
            group.place(end, data.offset + end - data.address)
            end += group.size
        if self.code is not None and self.code_group is not None:
            start = _behind(self.code, self.code_group)
            self.code_group.place(self.code.address + start - self.code.offset, start)

    def row(self, row: ProgramHeader) -> ProgramHeader:
        """A program header as it is from now on."""
        if row == self.data:
            size = self.data_groups[-1].address + self.data_groups[-1].size - row.address
        elif row == self.code and self.code_group is not None:
            size = self.code_group.address + self.code_group.size - row.address
        else:
            return row
        return row._replace(file_size=size, memory_size=size)

    def is_filled(self, section: Section) -> bool:
        """Return whether a section had no bytes in the file, and has zeros there from now on."""
        data = self.data
        start, end = data.address + data.file_size, data.memory_end
        is_zeros = section.type == SHT_NOBITS and not section.flags & SHF_TLS
        return is_zeros and section.is_allocated and start <= section.address < end


def longer(
    file: LinkedFile, data: Sequence[Group], code: Group | None, zeros: int
) -> Longer | None:
    """Return the longer last segment, for data, and a place for code; None if there is no room.

    So many bytes that were zeros in memory alone may get a place in the file.
    """
    loads = [s for s in file.loads if s not in file.own]
    last = loads[-1] if loads else None
    if last is None or last.end != file.cut or last.flags & (PF_W | PF_X) != PF_W:
        return None
    if last.memory_size - last.file_size > zeros:
        return None
    if code is None:
        return Longer(last, data, None, None)
    for load in loads:
        if load.flags & (PF_W | PF_X) == PF_X and _is_free(file, load, code):
            return Longer(last, data, load, code)
    return None


def _behind(load: ProgramHeader, code: Group) -> int:
    """Return where in the file code begins that is put behind a segment."""
    return aligned(load.end, max(part.alignment for part in code.parts))


def _is_free(file: LinkedFile, load: ProgramHeader, code: Group) -> bool:
    """Return whether code has room between the end of a segment and that of its page."""
    code.place(0, 0)
    end = _behind(load, code) + code.size
    if load.file_size != load.memory_size or aligned(load.end, PAGE) < end:
        return False
    if end > len(file.data) or file.data.bytes(load.end, end - load.end).strip(b"\0"):
        return False
    here = load.address - load.offset
    return not (
        any(s.has_bytes and s.offset < end and load.end < s.offset + s.size for s in file.sections)
        or any(s.address < end + here and load.memory_end <= s.address for s in file.loads)
        or any(s.offset < end and load.end <= s.offset for s in file.loads)
    )


class Room(NamedTuple):
    """The room for program headers: sections that move, and some whose bytes are gone."""

    moved: Sequence[Section]
    cut: Sequence[Section]
    end: int  # of what may be overwritten


def room(file: LinkedFile, count: int, empty: Collection[int]) -> Room | None:
    """Return the room for `count` program headers; None if a section in the way cannot move.

    `empty` are the numbers of sections that nothing points to.
    """
    start = file.segments_at
    end = start + count * PROGRAM_HEADER.size
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
    if file.front is None or end > file.front.end or file.front in file.own:
        return None
    return Room(moved, cut, end)


def _splits(file: LinkedFile, offset: int, moved: Sequence[Section]) -> bool:
    """Return whether a segment of its kind has sections before `offset` and some behind."""
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
    if section.type == SHT_RELA and file.dynamic is None:
        return False  # the code of a static program reads it
    if section.type in MOVABLE:
        return True
    return any(s.type == PT_INTERP and s.offset == section.offset for s in file.segments)
