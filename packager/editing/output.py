# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what an edit has made of a file: streamed, so that images of any size pass through."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct, pack_into
from typing import BinaryIO, NamedTuple

from packager.editing.layout.room import Longer
from packager.editing.linked import LinkedFile, removed_name
from packager.editing.parts import Address, Fixup, Kept, Part, Piece, aligned
from packager.editing.surgery import Surgery
from packager.elf.headers import (
    HEADER,
    SECTION_HEADER,
    SHT_NOBITS,
    SHT_NULL,
    SHT_PROGBITS,
    WORD,
    Section,
)
from packager.errors import FormatError, UsageError
from packager.files.copying import copy, put
from packager.writers.elf_types import SHF_ALLOC, SHN_LORESERVE, FilePart
from packager.writers.streams import Copied

DISTANCE = Struct("<i")
NEAR = 1 << 31
SECTIONS_AT, COUNTS_AT = 0x28, 0x38  # fields of the ELF header
NO_SECTION = Section(0, "", SHT_NULL, 0, 0, 0, 0, 0, 0)


class Chunk(NamedTuple):
    """Bytes and their place in the result."""

    offset: int
    piece: Piece


class Written(NamedTuple):
    """The new parts of a result."""

    content: Sequence[bytes]  # with its places, but for images
    images: Sequence[Path]


def write(out: BinaryIO, surgery: Surgery, copied: Copied) -> Written:
    """Write the result of `surgery`, which is settled."""
    surgery.symbol_patches()
    parts = [(part, _filled(part)) for group in surgery.groups for part in group.parts]
    writer = _Writer(out, surgery, copied)
    writer.write(parts)
    images = [p.path for _, pieces in parts for p in pieces if isinstance(p, FilePart)]
    return Written(writer.new_bytes, images)


def _filled(part: Part) -> list[Piece]:
    """The bytes of a part, with its fixups."""
    pieces: list[Piece] = []
    start = 0
    for piece in part.content:
        size = len(piece) if isinstance(piece, bytes) else piece.size
        if isinstance(piece, bytes):
            here = [fixup for fixup in part.fixups if start <= fixup.at < start + size]
            piece = _fixed(piece, start, part, here)
        pieces.append(piece)
        start += size
    return pieces


def _fixed(piece: bytes, start: int, part: Part, fixups: Sequence[Fixup]) -> bytes:
    """The bytes of a part from `start` on, with their fixups."""
    data = bytearray(piece)
    for at, target, is_distance in fixups:
        if not is_distance:
            WORD.pack_into(data, at - start, target.value)
            continue
        distance = target.value - (part.address + at + DISTANCE.size)
        if not -NEAR <= distance < NEAR:
            raise UsageError("is so large that new code cannot reach what it refers to")
        DISTANCE.pack_into(data, at - start, distance)
    return bytes(data)


class _Writer:
    def __init__(self, out: BinaryIO, surgery: Surgery, copied: Copied) -> None:
        self._fd = out.fileno()
        self._surgery = surgery
        self._file = surgery.file
        self._copied = copied
        self._patches = sorted(
            (at, WORD.pack(new.value) if isinstance(new, Address) else new)
            for at, new in surgery.patches.items()
        )
        self.new_bytes: list[bytes] = []  # with their places, but for images
        for at, content in self._patches:
            self._count(at, content)

    def _count(self, at: int, content: bytes) -> None:
        self.new_bytes += (at.to_bytes(8, "little"), content)

    def write(self, parts: Sequence[tuple[Part, Sequence[Piece]]]) -> None:
        """The kept beginning, the new segments, what is not loaded, and the headers."""
        surgery, file = self._surgery, self._file
        headers, names = _section_headers(surgery)
        end = max((g.offset + g.size for g in surgery.groups), default=file.cut)
        chunks, end = _unloaded(surgery, headers, names, end)
        table_at = aligned(end, 8)
        table = b"".join(_row(section) for section in headers)
        overlay = Kept(file.end, len(file.data) - file.end)
        total = table_at + len(table)
        os.ftruncate(self._fd, total + overlay.size)
        for start, size in _between(file.cut, surgery.holes):
            self._keep(start, Kept(start, size))
        for part, pieces in parts:
            at = part.offset
            for piece in pieces:
                at += self._put(at, piece)
        for chunk in chunks:
            self._put(chunk.offset, chunk.piece)
        self._put(table_at, table)
        self._put(total, overlay)
        rows = surgery.program_headers()
        self._put(file.segments_at, rows)
        self._put(0, self._header(table_at, len(rows), len(headers)))

    def _header(self, table_at: int, rows: int, count: int) -> bytes:
        header = bytearray(self._file.data.bytes(0, HEADER.size, "ELF header"))
        pack_into("<Q", header, SECTIONS_AT, table_at)
        pack_into("<H", header, COUNTS_AT, rows // 56)
        pack_into("<H", header, COUNTS_AT + 4, count)
        return bytes(header)

    def _put(self, at: int, piece: Piece) -> int:
        if isinstance(piece, bytes):
            self._count(at, piece)
            return put(self._fd, memoryview(piece), at)
        if isinstance(piece, Kept):
            self._keep(at, piece)
        else:
            self._copy_image(piece, at)
        return piece.size

    def _keep(self, at: int, piece: Kept) -> None:
        """Bytes of the file, as they are changed; where it has holes, so has the result."""
        self._copy(str(self._file.path), self._file.data.fileno(), piece, at)
        end = piece.offset + piece.size
        for number in range(bisect_left(self._patches, (piece.offset,)), len(self._patches)):
            offset, content = self._patches[number]
            if offset >= end:
                break
            if offset + len(content) <= end:
                put(self._fd, memoryview(content), at + offset - piece.offset)

    def _copy_image(self, piece: FilePart, at: int) -> None:
        what = f"image {piece.path}"
        try:
            source = os.open(piece.path, os.O_RDONLY)
        except OSError as error:
            raise FormatError(f"{what}: {error.strerror}") from error
        try:
            self._copy(what, source, piece, at)
        finally:
            os.close(source)

    def _copy(self, what: str, source: int, piece: Kept | FilePart, at: int) -> None:
        done = copy(source, piece.offset, piece.size, self._fd, at, self._copied)
        if done < piece.size:
            raise FormatError(f"{what} ends while it is copied")


def _between(end: int, holes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges up to `end` that no hole is in."""
    at = 0
    for start, size in sorted(holes):
        if at < start < end:
            yield at, start - at
        at = max(at, start + size)
    if at < end:
        yield at, end - at


def _section_headers(surgery: Surgery) -> tuple[list[Section], bytes]:
    """The section headers after the edit, and the bytes of their names."""
    file = surgery.file
    names = bytearray(file.elf.content(file.sections[file.names_section]).bytes())
    if not names.endswith(b"\0"):
        names += b"\0"
    headers = [_changed(surgery, section) for section in file.sections]
    for number, name in surgery.renamed.items():
        if headers[number] is NO_SECTION:
            continue
        headers[number] = headers[number]._replace(name_at=_name(names, name), type=1)
    for part in (part for group in surgery.groups for part in group.parts):
        if part.takes is not None:
            number = part.takes.number
            headers[number] = _placed(headers[number], part)
    free = [s.number for s in file.sections if headers[s.number] is NO_SECTION and s.number]
    for added in _added(surgery, names):
        if free:
            headers[free.pop(0)] = added
        else:
            headers.append(added)
    while headers[-1] is NO_SECTION and len(headers) > 1:
        headers.pop()
    if len(headers) >= SHN_LORESERVE:
        raise UsageError(f"the result would have {len(headers)} sections, more than ELF allows")
    return headers, bytes(names)


def _added(surgery: Surgery, names: bytearray) -> Iterator[Section]:
    """The headers of new sections, and of places that nothing is in any more."""
    for part in (part for group in surgery.groups for part in group.parts):
        if not part.is_block and part.takes is None:
            added = Section(0, part.name, part.type, part.flags, 0, 0, 0, part.link, 0,
                            part.alignment, part.entry_size, _name(names, part.name))  # fmt: skip
            yield _placed(added, part)
    for start, end in surgery.vacant():
        yield NO_SECTION._replace(
            type=SHT_PROGBITS, flags=SHF_ALLOC, address=start, size=end - start, alignment=1,
            offset=surgery.file.elf.offset(start) or 0, name_at=_name(names, removed_name(start)),
        )  # fmt: skip


def _changed(surgery: Surgery, section: Section) -> Section:
    if section.type == SHT_NULL or not section.is_allocated:
        return NO_SECTION if section.type == SHT_NULL else section
    if section in surgery.vacated.cut:
        gone = surgery.vacated.end - section.offset
        if gone >= section.size:
            return NO_SECTION
        return section._replace(
            address=section.address + gone, offset=section.offset + gone, size=section.size - gone
        )
    address = surgery.moves.address(section.address)
    if address is not None:
        offset = surgery.moves.offset(section.address) or 0
        return section._replace(address=address, offset=offset)
    if surgery.longer and surgery.longer.is_filled(section):
        data = surgery.longer.data
        return section._replace(
            type=SHT_PROGBITS, offset=data.offset + section.address - data.address
        )
    return NO_SECTION if surgery.file.dropped(section) else section


def _placed(section: Section, part: Part) -> Section:
    info = section.info if part.info is None else part.info
    return section._replace(address=part.address, offset=part.offset, size=part.size, info=info)


def _name(names: bytearray, name: str) -> int:
    text = name.encode("utf-8", "surrogateescape") + b"\0"
    found = names.find(b"\0" + text)
    if found >= 0:
        return found + 1
    names += text
    return len(names) - len(text)


def _unloaded(
    surgery: Surgery, headers: list[Section], names: bytes, end: int
) -> tuple[list[Chunk], int]:
    """Place what is not loaded and was behind the loaded segments: behind the new ones, or, where
    patchelf may stretch the last one, in front of it. Return its bytes, and their end.
    """
    file = surgery.file
    chunks: list[Chunk] = []
    own = file.sections[file.names_section]
    behind = sorted((s for s in file.sections if _is_behind(file, s)), key=_by_offset)
    pieces: list[tuple[Section, bytes | Kept]] = [
        (s, Kept(s.offset, 0 if s.type == SHT_NOBITS else s.size)) for s in behind if s is not own
    ]
    stretched = _stretched(surgery)
    pieces.insert(0 if stretched else len(pieces), (own, names))
    holes = list(_holes(file, stretched)) if stretched else []
    for section, piece in pieces:
        size = len(piece) if isinstance(piece, bytes) else piece.size
        alignment = 1 if section is own else max(1, min(section.alignment, 1 << 12))
        at = _taken(holes, size, alignment)
        if at is None and stretched and section is own:
            raise UsageError("has no room for the names of sections in front of its last segment")
        if at is None:
            at = aligned(end, alignment)
            end = at + size
        changed = headers[section.number]._replace(offset=at)
        headers[section.number] = changed._replace(size=size) if section is own else changed
        chunks.append(Chunk(at, piece))
    return chunks, end


def _by_offset(section: Section) -> tuple[int, int]:
    return section.offset, section.number


def _stretched(surgery: Surgery) -> Longer | None:
    """Return the segments that become longer if the header of the last of them is the last one.

    patchelf stretches such a segment over all that is behind it in the file. llvm-strip writes no
    section that a segment holds, so the sections' names must not be there.
    """
    longer = surgery.longer
    return longer if longer and surgery.file.kept[-1] == longer.data else None


def _holes(file: LinkedFile, longer: Longer) -> Iterator[tuple[int, int]]:
    """Yield the ranges in front of the last segment that no other is in, nor a section, but for the
    names.
    """
    stop = longer.data.offset
    own = file.sections[file.names_section]
    sections = (s for s in file.sections if s.has_bytes and s is not own)
    taken = [(s.offset, longer.row(s).end) for s in file.kept if s.file_size]
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

    Objcopy adds some that claim to be, and llvm-strip has empty ones where there is room.
    """
    if section.type == SHT_NULL or file.is_loaded(section):
        return False
    if section.offset >= file.cut:
        return True
    if section.has_bytes and section.offset + section.size > file.cut:
        raise FormatError(f"section {section.name} is half in a segment")
    return False


def _row(section: Section) -> bytes:
    return SECTION_HEADER.pack(
        section.name_at, section.type, section.flags, section.address, section.offset,
        section.size, section.link, section.info, section.alignment, section.entry_size,
    )  # fmt: skip
