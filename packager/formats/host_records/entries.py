# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read tables of offload entries, on the host side and in device images.

`omptarget_entries` has libomptarget-interface.tex's records of 24 bytes. `libtarget_entries` has
offload-infrastructure-proposal.txt's of 16 bytes, without names. `omp_offloading_entries` has
clang's of 32 bytes, and `llvm_offload_entries` those of 56 bytes.

The records themselves decide about their size, not the section's name: LLVM 20 has records of 56
bytes under LLVM 19's name. If a linker script has merged the section with others, or a tool has
renamed it, the descriptor's range locates the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, repeat

from packager.elf.address_space import MAX_WINDOW, Space, read_window
from packager.elf.relocated import Range, Window
from packager.errors import FormatError
from packager.layouts import (
    CLASSIC_ENTRY,
    ENTRIES_SECTION,
    INTERFACE_ENTRY,
    PROPOSAL_ENTRIES_SECTION,
    PROPOSAL_ENTRY,
    VERSIONED_ENTRY,
    EntryLayout,
)
from packager.model import Model
from packager.patterns import pattern
from packager.records import NamedTuple

# Names of sections of entries, and their expected records.
SECTIONS = {
    ENTRIES_SECTION: INTERFACE_ENTRY,
    PROPOSAL_ENTRIES_SECTION: PROPOSAL_ENTRY,
    "omp_offloading_entries": CLASSIC_ENTRY,
    "llvm_offload_entries": VERSIONED_ENTRY,
    "cuda_offloading_entries": CLASSIC_ENTRY,
    "hip_offloading_entries": CLASSIC_ENTRY,
}
WORD = "entries"  # part of all section names
# Models of records without a model field, by section; all others are OpenMP's.
MODELS: dict[str, Model] = {"cuda_offloading_entries": "cuda", "hip_offloading_entries": "hip"}
# LLVM's numbers of models; HIP had another one until LLVM 20.
NUMBERED: dict[int, Model] = {1: "openmp", 2: "cuda", 3: "hip", 4: "hip", 8: "sycl"}

_HASH = pattern(r"[0-9a-f]{8,}")


class Record(NamedTuple):
    """An entry record; `address` is None for a symbol that another file defines."""

    offset: int  # offset from the start of the table
    address: int | None
    target: tuple[str | None, int] | None  # equal for equal addresses; None for null
    name: str
    size: int
    flags: int | None
    data: int
    model: Model


class FoundTable(NamedTuple):
    """A table of entries: its records, relocated, and their layout."""

    section: str | None  # None: a descriptor, not a section, locates the table
    layout: EntryLayout
    window: Window
    bounds: tuple[int, int]  # addresses of its Space
    offset: int  # offset in the file

    @property
    def size(self) -> int:
        """Return the size of the table in bytes."""
        return len(self.window.data)

    def symbol(self, record: Record) -> str | None:
        """Return the symbol that the relocation of a record's address names."""
        return self.window.symbol(record.offset + self.layout.address)

    @property
    def what(self) -> str:
        """Return the table's name for error messages."""
        return _what(self.section, self.offset)


def find(space: Space) -> list[FoundTable]:
    """Return the sections of entries in a file."""
    tables = []
    for section in space.elf.sections:
        layout = expected(section.name) if WORD in section.name else None
        if layout is None or not section.is_allocated:
            continue
        begin = space.address(section)
        what = _what(section.name, section.offset)
        window = read_window(space, Range(begin, section.size, what))
        if layout is CLASSIC_ENTRY and is_versioned(window):
            layout = VERSIONED_ENTRY
        bounds = (begin, begin + section.size)
        tables.append(FoundTable(section.name, layout, window, bounds, section.offset))
    return tables


def expected(section: str) -> EntryLayout | None:
    """Return the layout of a section's records by its name; clang's -r links append a hash."""
    base, _, ending = section.rpartition("_")
    layout = SECTIONS.get(base)
    return SECTIONS.get(section) or (layout if layout and _HASH.fullmatch(ending) else None)


def in_ranges(space: Space, ranges: Iterable[tuple[int, int, EntryLayout]]) -> list[FoundTable]:
    """Return the tables that descriptors span as (begin, end, layout) outside sections of entries.

    Skips ranges that the file does not hold or that overlap an earlier one. Raises FormatError if
    they are too large to be real.
    """
    chosen: list[tuple[Range, EntryLayout]] = []
    total = past = 0
    for begin, end, layout in sorted(set(ranges), key=lambda at: at[:2]):
        size, offset = end - begin, space.offset(begin, end - begin)
        if size <= 0 or begin < past or offset is None:
            continue
        chosen.append((Range(begin, size, _what(None, offset)), layout))
        total, past = total + size, end
    if not chosen:
        return []
    if total > MAX_WINDOW:
        raise FormatError(f"tables of offload entries of {total} bytes are too large to be real")
    windows = space.windows([at for at, _ in chosen])
    return [
        FoundTable(
            None,
            VERSIONED_ENTRY if layout is CLASSIC_ENTRY and is_versioned(window) else layout,
            window,
            (at.address, at.address + at.size),
            space.offset(at.address) or 0,
        )
        for (at, layout), window in zip(chosen, windows, strict=True)
    ]


def _what(section: str | None, offset: int) -> str:
    return f"section {section}" if section else f"the table of entries at {offset:#x}"


def is_versioned(table: Window) -> bool:
    """Return whether records are the 56-byte ones, which begin with a zero word and version 1."""
    record = VERSIONED_ENTRY.record
    count, rest = divmod(len(table.data), record)
    if not count or rest:
        return False
    return table.pointers(0, record).count(0) == table.column("H", 8, record).count(1) == count


def records(space: Space, table: FoundTable) -> Iterator[Record]:
    """Yield the records of a table, without an incomplete one at the end."""
    layout, window = table.layout, table.window
    record = layout.record
    starts = range(0, len(window.data) - record + 1, record)
    flags = repeat(None) if layout.flags is None else window.column("I", layout.flags, record)
    data = repeat(0) if layout.data is None else window.column("I", layout.data, record)
    return map(
        Record,
        starts,
        window.pointers(layout.address, record),
        window.targets(layout.address, record),
        _names(space, table),
        window.column(layout.size_format, layout.size, record),
        flags,
        data,
        _models(table),
    )


def version(table: FoundTable) -> int:
    """Return the highest version of the records of a table; 0 if they have none."""
    layout = table.layout
    if layout.version is None:
        return 0
    return max(table.window.column("H", layout.version, layout.record), default=0)


def models(table: FoundTable) -> set[Model]:
    """Return which models the records of a table are for."""
    return set(islice(_models(table), table.size // table.layout.record))


def _models(table: FoundTable) -> Iterator[Model]:
    if table.layout.model is None:
        return repeat(MODELS.get(table.section or "", "openmp"))
    numbers = table.window.column("H", table.layout.model, table.layout.record)
    return (NUMBERED.get(number, "other") for number in numbers)


def _names(space: Space, table: FoundTable) -> Iterator[str]:
    if table.layout.name is None:
        return repeat("")

    def which(number: int) -> str:
        return f"name of record {number} of {table.what}"

    def offsets() -> Iterator[int]:
        for number, address in enumerate(pointers):
            offset = space.offset(address) if address else None
            if offset is None:
                raise FormatError(f"{which(number)} is not in the file")
            yield offset

    pointers = table.window.pointers(table.layout.name, table.layout.record)
    return space.elf.data.strings(offsets(), which)
