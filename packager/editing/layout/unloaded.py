# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The places of sections that are not loaded."""

from __future__ import annotations

from collections.abc import Iterator

from packager.editing.layout.placing import Placed
from packager.editing.layout.segments import aligned
from packager.editing.linked import LinkedFile
from packager.editing.plan import Kept
from packager.elf.headers import SHT_NOBITS, SHT_NULL, Section
from packager.errors import FormatError, UsageError
from packager.records import NamedTuple


class Unloaded(NamedTuple):
    """A section that is not loaded: its number, its place, and its bytes."""

    number: int
    offset: int
    piece: bytes | Kept


def unloaded(file: LinkedFile, placed: Placed, names: bytes) -> Iterator[Unloaded]:
    """Place the unloaded sections that were behind the loaded segments.

    They come behind the new segments. If patchelf may stretch the last segment, they come in front
    of it.
    """
    own = file.sections[file.names_section]
    behind = sorted((s for s in file.sections if _is_behind(file, s)), key=_by_offset)
    pieces: list[tuple[Section, bytes | Kept]] = [
        (s, Kept(s.offset, 0 if s.type == SHT_NOBITS else s.size)) for s in behind if s is not own
    ]
    is_last = _is_last(file, placed)
    pieces.insert(0 if is_last else len(pieces), (own, names))
    holes = list(_holes(file, placed)) if is_last else []
    end = placed.end
    for section, piece in pieces:
        size = len(piece) if isinstance(piece, bytes) else piece.size
        alignment = 1 if section is own else max(1, min(section.alignment, 1 << 12))
        at = _taken(holes, size, alignment)
        if at is None and is_last and section is own:
            raise UsageError("has no room for the names of sections in front of its last segment")
        if at is None:
            at = aligned(end, alignment)
            end = at + size
        yield Unloaded(section.number, at, piece)


def _by_offset(section: Section) -> tuple[int, int]:
    return section.offset, section.number


def _is_last(file: LinkedFile, placed: Placed) -> bool:
    """Return whether an extended segment has the last program header.

    patchelf stretches such a segment over all that follows it in the file. llvm-strip writes no
    section that a segment holds, so the section names must not be there.
    """
    longer = placed.room.longer
    return longer is not None and file.kept[-1] == longer.data


def _holes(file: LinkedFile, placed: Placed) -> Iterator[tuple[int, int]]:
    """Yield the unused ranges in front of the last segment.

    The section of names does not count as used.
    """
    stop = file.kept[-1].offset
    own = file.sections[file.names_section]
    sections = (s for s in file.sections if s.has_bytes and s is not own)
    taken = [(s.offset, placed.longer.get(s, s).end) for s in file.kept if s.file_size]
    taken += [(s.offset, s.offset + s.size) for s in sections]
    at = 0
    for start, end in sorted(taken):
        if at < min(start, stop):
            yield at, min(start, stop)
        at = max(at, end)


def _taken(holes: list[tuple[int, int]], size: int, alignment: int) -> int | None:
    """Take a place from the first hole that is large enough."""
    for number, (start, stop) in enumerate(holes):
        at = aligned(start, alignment)
        if at + size <= stop:
            holes[number] = (at + size, stop)
            return at
    return None


def _is_behind(file: LinkedFile, section: Section) -> bool:
    """Return whether a section is not loaded.

    Flags are no proof: objcopy adds unloaded sections with SHF_ALLOC, and llvm-strip places empty
    ones at any free address.
    """
    if section.type == SHT_NULL or file.is_loaded(section):
        return False
    if section.offset >= file.cut:
        return True
    if section.has_bytes and section.offset + section.size > file.cut:
        raise FormatError(f"section {section.name} is half in a segment")
    return False
