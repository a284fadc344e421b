"""Tables of offload entries, on the host side and in device images: libomptarget-interface.tex's
24-byte records in `omptarget_entries`, clang's 32-byte ones in `omp_offloading_entries`.

A section's name does not settle the size of its records (LLVM 20 has 56-byte ones under the name
that was LLVM 19's): the first record decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from packager.elf import Section
from packager.errors import FormatError
from packager.layouts import (
    CLASSIC_ENTRY,
    ENTRIES_SECTION,
    INTERFACE_ENTRY,
    VERSIONED_ENTRY,
    EntryLayout,
)
from packager.memory import Range, Space, Window, read_window

# Sections of entries that are read, and the records that they are expected to hold.
SECTIONS = {ENTRIES_SECTION: INTERFACE_ENTRY, "omp_offloading_entries": CLASSIC_ENTRY}


class Record(NamedTuple):
    """An entry record; `address` is None for a symbol that another file defines."""

    offset: int  # from the start of the table
    address: int | None
    symbol: str | None  # of the relocation of `address`
    name: str
    size: int
    flags: int | None


class FoundTable(NamedTuple):
    """A section of entries: its records, relocated, and their layout."""

    section: Section
    layout: EntryLayout
    window: Window
    bounds: tuple[int, int]  # addresses of its Space


def find(space: Space) -> list[FoundTable]:
    """The sections of entries in a file."""
    tables = []
    for section in space.elf.sections:
        if section.name not in SECTIONS or not section.is_allocated:
            continue
        begin = space.address(section)
        what = f"section {section.name}"
        window = read_window(space, Range(begin, section.size, what))
        layout = VERSIONED_ENTRY if _is_versioned(window) else SECTIONS[section.name]
        tables.append(FoundTable(section, layout, window, (begin, begin + section.size)))
    return tables


def unread(tables: Iterable[FoundTable]) -> Iterator[str]:
    """Tables whose records are of a generation that the rest of the reader does not know."""
    for table in tables:
        if table.layout is VERSIONED_ENTRY:
            name = table.section.name
            yield f"section {name} has LLVM 20's records, which this version does not read"


def _is_versioned(table: Window) -> bool:
    """Whether the records are the 56-byte ones: they begin with a zero word and a version of 1."""
    size = len(table.data)
    if size < VERSIONED_ENTRY.record or size % VERSIONED_ENTRY.record:
        return False
    starts = range(0, size, VERSIONED_ENTRY.record)
    return all(
        table.word(at) == 0 and table.pointer(at) == 0 and table.word(at + 8) & 0xFFFF == 1
        for at in starts
    )


def records(space: Space, table: FoundTable) -> Iterator[Record]:
    """The records of a table; an incomplete one at the end is left out."""
    layout, window = table.layout, table.window
    size_of = Struct(layout.size_format)
    for at in range(0, len(window.data) - layout.record + 1, layout.record):
        place = at + layout.address
        (size,) = size_of.unpack_from(window.data, at + layout.size)
        yield Record(
            at,
            window.pointer(place),
            window.symbol(place),
            _name(space, table, at),
            size,
            None if layout.flags is None else window.half(at + layout.flags),
        )


def _name(space: Space, table: FoundTable, at: int) -> str:
    if table.layout.name is None:
        return ""
    which = f"name of record {at // table.layout.record} of section {table.section.name}"
    address = table.window.pointer(at + table.layout.name)
    offset = space.offset(address) if address else None
    if offset is None:
        raise FormatError(f"{which} is not in the file")
    return space.elf.data.string(offset, which)
