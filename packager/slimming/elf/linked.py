# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lay out an executable or library with smaller containers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from struct import pack_into

from packager.editing.build_id import find_build_id
from packager.editing.layout.dynamic_table import ADDRESSES
from packager.editing.layout.result import COUNTS_AT, SECTIONS_AT, section_header
from packager.editing.linked import LinkedFile
from packager.elf.headers import DYNAMIC, HEADER, PROGRAM_HEADER, WORD, Segment
from packager.slimming.elf.cutting import Cutting
from packager.slimming.elf.front import Move
from packager.slimming.elf.holes import Holes
from packager.slimming.elf.layout import Extent, Layout, Patch, contents, filled, in_place
from packager.slimming.elf.sections import Headers, section_headers
from packager.slimming.elf.segments import program_headers
from packager.slimming.elf.symbols import changes, rewritten
from packager.slimming.pieces import Piece, Rewritten

SEGMENTS_AT = 0x20  # field of the ELF header


def linked_layout(
    file: LinkedFile, cutting: Cutting, others: Sequence[Rewritten], containers: Sequence[Rewritten]
) -> Layout:
    """Lay out the result, with a new build-id: `others` of the `containers` stay where they are."""
    holes = cutting.holes
    place = _places(cutting.moves, holes)
    patches = [(place(at), content) for at, content in (*cutting.patches, *_dynamic(file, cutting))]
    if (old := find_build_id(file)) is not None:
        patches.append((place(old.offset), old.after(list(_rewritten(containers, holes)))))
    if not cutting.packed:
        return Layout(sorted(in_place(others)), holes, patches)
    sections = section_headers(file.sections, cutting.packed, cutting.moves, holes, file.is_loaded)
    segments = program_headers(file, cutting.cuts, cutting.moves)
    patches += _headers(file, segments, sections, holes)
    extents = sorted([*in_place(others), *_packed(cutting), *_front(cutting.moves)])
    symbols = _symbols(file, cutting, sections, holes)
    return Layout(extents, holes, patches, symbols)


def _places(moves: Sequence[Move], holes: Holes) -> Callable[[int], int]:
    """Return a function from old offsets to new ones."""
    rows = [(m.section.offset, m.section.offset + m.section.size, m.offset) for m in moves]

    def place(offset: int) -> int:
        for start, end, new in rows:
            if start <= offset < end:
                return holes.place(new + offset - start)
        return holes.place(offset)

    return place


def _dynamic(file: LinkedFile, cutting: Cutting) -> Iterator[Patch]:
    """Yield the values of the dynamic table that point to moved tables."""
    table = file.dynamic
    for number, (tag, value) in enumerate(table.rows if table else ()):
        for section, _, address, _ in cutting.moves if tag in ADDRESSES else ():
            if section.address <= value < section.address + section.size and table:
                new = WORD.pack(address + value - section.address)
                yield table.offset + number * DYNAMIC.size + WORD.size, new


def _rewritten(containers: Sequence[Rewritten], holes: Holes) -> Iterator[bytes]:
    """Yield the bytes that identify the result: new bytes with their places, and holes."""
    ranges = [(c.offset, c.size, [piece[:2] for piece in c.pieces]) for c in containers]
    yield repr((ranges, holes.rows)).encode()
    yield from (piece.data for c in containers for piece in c.pieces if piece.offset < 0)


def _headers(
    file: LinkedFile, segments: Sequence[Segment], sections: Headers, holes: Holes
) -> Iterator[Patch]:
    header = bytearray(file.data.bytes(0, HEADER.size, "ELF header"))
    segments_at, sections_at = holes.place(file.segments_at), holes.place(file.elf.sections_at)
    pack_into("<Q", header, SEGMENTS_AT, segments_at)
    pack_into("<Q", header, SECTIONS_AT, sections_at)
    pack_into("<H", header, COUNTS_AT, len(segments))
    pack_into("<H", header, COUNTS_AT + 6, sections.numbers[file.names_section])
    yield 0, bytes(header)
    yield segments_at, b"".join(PROGRAM_HEADER.pack(*row) for row in segments)
    yield sections_at, b"".join(map(section_header, sections.rows))


def _packed(cutting: Cutting) -> Iterator[Extent]:
    """Yield the sections whose containers are packed, with the tables that move into them."""
    for one in cutting.packed:
        section = one.section
        end = section.offset + section.size
        tables = [_moved(m) for m in cutting.moves if not m.is_slid and one.end <= m.offset < end]
        new = [extent for c in one.placed for extent in contents(c.container, c.offset)]
        start = one.placed[0].offset
        yield from filled(start, end, [*new, *tables])


def _front(moves: Sequence[Move]) -> Iterator[Extent]:
    """Yield the beginning of the file: moved bytes, and zeros in place of moved tables."""
    if not moves:
        return
    old = [(m.section.offset, m.section.offset + m.section.size) for m in moves]
    start, end = min(begin for begin, _ in old), max(stop for _, stop in old)
    slid = [_moved(move) for move in moves if move.is_slid]
    end = max([end, *(extent.end for extent in slid)])
    yield from filled(start, end, slid)


def _moved(move: Move) -> Extent:
    size = move.section.size
    return Extent(move.offset, size, Piece(move.section.offset, size))


def _symbols(
    file: LinkedFile, cutting: Cutting, sections: Headers, holes: Holes
) -> Iterator[Patch]:
    """Yield the parts of symbol tables that change."""
    by_section = changes(cutting.packed, cutting.moves)
    place = _places(cutting.moves, holes)
    for table in file.elf.symbol_tables():
        for at, content in rewritten(file.elf, table, sections.numbers, by_section):
            yield place(table.offset) + at, content
