# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lay out relocatable objects with smaller containers: later bytes move, as none has an address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from struct import pack_into

from packager.editing.layout.result import SECTIONS_AT, section_header
from packager.elf.headers import HEADER, SECTION_HEADER, Elf, Section
from packager.errors import PackagerError, UsageError
from packager.slimming.elf.holes import Hole, Holes
from packager.slimming.elf.layout import Extent, Layout, Patch, contents, filled, in_place
from packager.slimming.elf.object_pointers import object_pointers
from packager.slimming.elf.packing import Packed, pack
from packager.slimming.elf.sections import section_headers
from packager.slimming.elf.symbols import changes, rewritten
from packager.slimming.pieces import Rewritten

LEAST_UNIT = 16


def object_layout(
    elf: Elf,
    groups: Mapping[Section, Sequence[Rewritten]],
    others: Sequence[Rewritten],
    faults: dict[int, str],
) -> Layout:
    """Lay out the result, and add to `faults` why sections do not become shorter."""
    packed: list[Packed] = []
    holes: list[Hole] = []
    patches: list[Patch] = []
    zeroed = list(others)
    for section, containers in groups.items():
        try:
            if elf.segments:
                raise UsageError("the object has program headers")
            one = pack(section, containers, elf.data)
            hole, pointers = _hole(one, elf), object_pointers(elf, one)
            if hole.size:  # else the section is shorter, and zeros are behind it
                holes.append(hole)
            packed.append(one)
            patches += pointers
        except PackagerError as error:
            faults[section.number] = str(error)
            zeroed += containers
    found = Holes(holes)
    extents = chain(in_place(zeroed), *map(_extents, packed))
    patches = [(found.place(at), content) for at, content in patches]
    patches += _headers(elf, packed, found)
    return Layout(sorted(extents), found, patches, _symbols(elf, packed, found))


def _hole(packed: Packed, elf: Elf) -> Hole:
    """Return the hole at the end of a section, which keeps the alignment of later bytes."""
    end = packed.section.offset + packed.section.size
    behind = [s for s in elf.sections if s.has_bytes and s.offset >= end]
    unit = max([LEAST_UNIT, *(s.alignment for s in behind)])
    if unit & unit - 1:
        raise UsageError(f"a section is aligned to {unit} bytes, which is no power of two")
    hole = Hole(end - (end - packed.end) // unit * unit, end)
    spans = [(s.offset, s.size) for s in elf.sections if s.has_bytes and s != packed.section]
    spans.append((elf.sections_at, len(elf.sections) * SECTION_HEADER.size))
    if any(start < hole.end and hole.start < start + size for start, size in spans):
        raise UsageError("a section or header has the free bytes, too")
    return hole


def _extents(packed: Packed) -> Iterator[Extent]:
    new = [extent for one in packed.placed for extent in contents(one.container, one.offset)]
    section = packed.section
    return filled(packed.placed[0].offset, section.offset + section.size, new)


def _headers(elf: Elf, packed: Sequence[Packed], holes: Holes) -> Iterator[Patch]:
    if not packed:
        return
    header = bytearray(elf.data.bytes(0, HEADER.size, "ELF header"))
    at = holes.place(elf.sections_at)
    pack_into("<Q", header, SECTIONS_AT, at)
    yield 0, bytes(header)
    rows = section_headers(elf.sections, packed, (), holes).rows
    yield at, b"".join(map(section_header, rows))


def _symbols(elf: Elf, packed: Sequence[Packed], holes: Holes) -> Iterator[Patch]:
    """Yield the parts of symbol tables that change."""
    by_section = changes(packed, ())
    numbers = range(len(elf.sections))
    for table in elf.symbol_tables() if by_section else ():
        for at, content in rewritten(elf, table, numbers, by_section):
            yield holes.place(table.offset) + at, content
