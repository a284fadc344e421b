# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Room for more program headers, which stand in front of all else in the file.

The loader wants them in the first segment, and binutils writes them right behind the ELF header.
There are two ways to make room:

- What follows them moves: sections that only program headers and the dynamic table point to.
  Debian's bash needs this, and most other files. Images that the edit takes away give their place:
  in programs of clang 16 to 23 lld puts them there.
- Segments that are there become longer. The library librt of mypy's wheel needs this: it begins
  with code. numpy's lapack_lite needs it, too: patchelf has put a last segment into it, and takes
  everything out of that segment again if it can add another one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from packager.editing.layout.segments import Group, aligned
from packager.editing.linked import LinkedFile
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
    Segment,
)
from packager.errors import UsageError
from packager.records import NamedTuple

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


class Front(NamedTuple):
    """Room for program headers: sections to move, and some without bytes."""

    moved: Sequence[Section] = ()
    cut: Sequence[Section] = ()
    end: int = 0  # end of the bytes that may be overwritten


class Longer(NamedTuple):
    """Segments that become longer: the last one, and one for code."""

    data: Segment
    code: Segment | None

    def is_filled(self, section: Section) -> bool:
        """Return whether a section without bytes in the file gets zeros there."""
        data = self.data
        start, end = data.address + data.file_size, data.memory_end
        is_zeros = section.type == SHT_NOBITS and not section.flags & SHF_TLS
        return is_zeros and section.is_allocated and start <= section.address < end


class Room(NamedTuple):
    """Groups that need segments, and the changes that make room for them."""

    groups: Sequence[Group]
    front: Front
    longer: Longer | None  # then no program header is added


def find_room(file: LinkedFile, groups: Sequence[Group], empty: Collection[int]) -> Room:
    """Choose how many segments to add, or to extend.

    `empty` has the numbers of sections that nothing refers to.
    """
    if not groups:
        return Room((), Front(), None)
    merged = _merged(groups)
    kept = len(file.kept) + _spare(file)
    front = _front(file, kept, empty) or Front()
    # A segment without zeros is patchelf's. The next patchelf may take everything out of it,
    # and then strip breaks the file.
    if longer := _longer(file, groups, 0):
        return Room(merged, front, longer)
    if found := _front(file, kept + len(groups), empty):
        return Room(groups, found, None)
    if longer := _longer(file, groups, MOST_ZEROS):
        return Room(merged, front, longer)
    raise UsageError("has no room for another program header, and none can be made")


def _spare(file: LinkedFile) -> int:
    """Return how many program headers patchelf adds: one, and one for each section of notes.

    Whatever stands where they go it moves, also code. In front of a program of fixed addresses
    it puts pages of its own.
    """
    return 0 if file.elf.is_executable else 1 + len(file.elf.of_type(SHT_NOTE))


def _merged(groups: Sequence[Group]) -> list[Group]:
    """Merge read-only groups into the writable one."""
    last = [group for group in groups if group.segment in ("data", "rest")]
    if len(last) != len(("data", "rest")):
        return list(groups)
    data, rest = last
    both = data._replace(parts=(*data.parts, *rest.parts[1:]))
    return [*(group for group in groups if group not in last), both]


def _front(file: LinkedFile, count: int, empty: Collection[int]) -> Front | None:
    """Return the room for `count` program headers; None if a section in the way cannot move.

    `empty` has the numbers of sections that nothing refers to.
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
        elif is_movable(file, section):
            moved.append(section)
            end = max(end, section.offset + section.size)
        else:
            return None
    if file.front is None or end > file.front.end or file.front in file.own:
        return None
    return Front(moved, cut, end)


def _longer(file: LinkedFile, groups: Sequence[Group], zeros: int) -> Longer | None:
    """Return the segments that can become longer: the last one, for data, and one for code.

    So many bytes that were zeros in memory alone may get a place in the file.
    """
    last = file.kept_loads[-1] if file.kept_loads else None
    if last is None or last.end != file.cut or last.flags & (PF_W | PF_X) != PF_W:
        return None
    if last.memory_size - last.file_size > zeros:
        return None
    code = next((group for group in groups if group.segment == "code"), None)
    if code is None:
        return Longer(last, None)
    for load in file.kept_loads:
        if load.flags & (PF_W | PF_X) == PF_X and _is_free(file, load, code):
            return Longer(last, load)
    return None


def _is_free(file: LinkedFile, load: Segment, code: Group) -> bool:
    """Return whether code has room between the end of a segment and that of its page."""
    end = code.behind(load) + code.size
    if load.file_size != load.memory_size or aligned(load.end, file.machine.page) < end:
        return False
    if end > len(file.data) or file.data.bytes(load.end, end - load.end).strip(b"\0"):
        return False
    here = load.address - load.offset
    return not (
        any(s.has_bytes and s.offset < end and load.end < s.offset + s.size for s in file.sections)
        or any(s.address < end + here and load.memory_end <= s.address for s in file.loads)
        or any(s.offset < end and load.end <= s.offset for s in file.loads)
    )


def _splits(file: LinkedFile, offset: int, moved: Sequence[Section]) -> bool:
    """Return whether a segment of its kind has sections before `offset` and some behind."""
    starts = {s.offset for s in moved}
    return any(
        segment.offset < offset < segment.end
        and any(segment.offset <= start < offset for start in starts)
        for segment in file.segments
        if segment not in file.loads and segment.file_size
    )


def is_movable(file: LinkedFile, section: Section) -> bool:
    """Return whether only the loader refers to a section, by program headers and dynamic table."""
    if not section.is_allocated:
        return False
    if section.type == SHT_RELA and file.dynamic is None:
        return False  # the code of a static program reads it
    if section.type in MOVABLE:
        return True
    return any(s.type == PT_INTERP and s.offset == section.offset for s in file.segments)
