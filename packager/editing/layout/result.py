# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of a result and their places, when every part has its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import pack_into

from packager.editing.layout import dynamic_table
from packager.editing.layout.chunks import Chunk, chunks
from packager.editing.layout.moves import Moves
from packager.editing.layout.placing import Placed
from packager.editing.layout.program_headers import program_headers
from packager.editing.layout.relocated import Rows
from packager.editing.layout.section_headers import section_headers
from packager.editing.layout.segments import aligned
from packager.editing.layout.unloaded import unloaded
from packager.editing.linked import LinkedFile
from packager.editing.plan import Address, Hole, Kept, Part, Plan
from packager.elf.headers import (
    HEADER,
    PROGRAM_HEADER,
    SECTION_HEADER,
    SYMBOL,
    WORD,
    Section,
)
from packager.errors import FormatError
from packager.records import NamedTuple

MOST_SYMBOLS = 1 << 14  # most symbols of moved sections: one for each note and table
SECTIONS_AT, COUNTS_AT = 0x28, 0x38  # fields of the ELF header


class Layout(NamedTuple):
    """The result of an edit."""

    size: int
    kept: Sequence[Kept]  # ranges that stay in place
    chunks: Sequence[Chunk]  # new or moved bytes
    patches: Sequence[tuple[int, bytes]]  # keyed by offsets in the file before the edit
    holes: Sequence[Hole]
    moves: Moves


class Tables(NamedTuple):
    """The loader's tables, each with its new part if it is rewritten."""

    rows: Rows
    relocations: Part | None
    dynamic: Part | None


def result(file: LinkedFile, plan: Plan, placed: Placed, tables: Tables) -> Layout:
    """Return the layout of a file whose new parts have their places."""
    patches: dict[int, bytes | Address] = dict(plan.patches)
    late: dict[Part, Sequence[bytes]] = {}
    if tables.relocations:
        late[tables.relocations] = tables.rows.content(placed.value)
    if file.dynamic:
        content = dynamic_table.content(file.dynamic, plan, placed, tables.dynamic)
        if tables.dynamic:
            late[tables.dynamic] = [content]
        else:
            patches[file.dynamic.offset] = content
    patches |= _symbols(file, placed.moves)
    numbers = sorted(
        (at, WORD.pack(placed.value(new)) if isinstance(new, Address) else new)
        for at, new in patches.items()
    )
    new = [*chunks(placed, late), *_headers(file, plan, placed, tables.dynamic)]
    size = max(chunk.end for chunk in new)
    return Layout(
        size, list(_between(file.cut, plan.holes)), new, numbers, plan.holes, placed.moves
    )


def _symbols(file: LinkedFile, moves: Moves) -> dict[int, bytes]:
    """Return the new bytes of symbols in moved sections, by file offset."""
    moved = {
        s.number for s in file.sections if s.is_allocated and moves.address(s.address) is not None
    }
    found: dict[int, bytes] = {}
    for table in file.elf.symbol_tables() if moved else ():
        for number, symbol in enumerate(file.elf.symbols(table)):
            address = moves.address(symbol.value) if symbol.section in moved else None
            if address is not None:
                found[table.offset + number * SYMBOL.size + 8] = WORD.pack(address)
                if len(found) > MOST_SYMBOLS:
                    raise FormatError(f"more than {MOST_SYMBOLS} symbols are in parts that move")
    return found


def _headers(file: LinkedFile, plan: Plan, placed: Placed, dynamic: Part | None) -> Iterator[Chunk]:
    """Place what follows the loaded segments, and the headers in front.

    These are unloaded sections, the section headers, and the bytes behind the ELF file.
    """
    sections, names = section_headers(file, plan, placed)
    end = placed.end
    for number, offset, piece in unloaded(file, placed, names):
        chunk = Chunk(offset, piece)
        end = max(end, chunk.end)
        moved = sections[number]._replace(offset=offset)
        sections[number] = moved._replace(size=len(piece)) if isinstance(piece, bytes) else moved
        yield chunk
    table = Chunk(aligned(end, 8), b"".join(map(section_header, sections)))
    yield table
    yield Chunk(table.end, Kept(file.end, len(file.data) - file.end))
    rows = program_headers(file, placed, dynamic)
    yield Chunk(file.segments_at, b"".join(PROGRAM_HEADER.pack(*row) for row in rows))
    header = bytearray(file.data.bytes(0, HEADER.size, "ELF header"))
    pack_into("<Q", header, SECTIONS_AT, table.offset)
    pack_into("<H", header, COUNTS_AT, len(rows))
    pack_into("<H", header, COUNTS_AT + 4, len(sections))
    yield Chunk(0, bytes(header))


def section_header(section: Section) -> bytes:
    """Return the bytes of a section header."""
    return SECTION_HEADER.pack(
        section.name_at, section.type, section.flags, section.address, section.offset,
        section.size, section.link, section.info, section.alignment, section.entry_size,
    )  # fmt: skip


def _between(end: int, holes: Sequence[Hole]) -> Iterator[Kept]:
    """Yield the ranges between the holes, up to `end`."""
    at = 0
    for start, size in sorted(holes):
        if at < start < end:
            yield Kept(at, start - at)
        at = max(at, start + size)
    if at < end:
        yield Kept(at, end - at)
