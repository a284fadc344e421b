# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbol tables after sections were renumbered and containers moved."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

from packager.elf.headers import SYMBOL, Elf, Section
from packager.files.reader import PIECE
from packager.records import NamedTuple
from packager.slimming.elf.front import Move
from packager.slimming.elf.packing import Packed

Row = tuple[int, int, int, int, int, int]  # name, info, other, section, value, size
MASK = (1 << 64) - 1
HALVES = SYMBOL.size // 2  # words of 16 bits in a symbol
SECTION = 3  # index of the section's number among these words


class Contents(NamedTuple):
    """The symbols in a section of containers: addresses that move, and where the section ends."""

    moved: Mapping[int, int]
    end: int

    def changed(self, row: Row) -> Row:
        """Return a symbol with its new value and size."""
        name, info, other, section, value, size = row
        value = min(self.moved.get(value, value), self.end)
        return name, info, other, section, value, min(size, self.end - value)


class Shifted(NamedTuple):
    """The symbols in a section that has moved as a whole."""

    distance: int

    def changed(self, row: Row) -> Row:
        """Return a symbol with its value shifted."""
        return *row[:4], (row[4] + self.distance) & MASK, row[5]


Change = Contents | Shifted


def changes(packed: Iterable[Packed], moves: Iterable[Move]) -> dict[int, Change]:
    """Return the changes of symbols, by the numbers of their sections."""
    found: dict[int, Change] = {
        one.section.number: Contents(one.addresses, one.memory_end) for one in packed
    }
    for move in moves:
        found[move.section.number] = Shifted(move.address - move.section.address)
    return found


def rewritten(
    elf: Elf, table: Section, numbers: Sequence[int], by_section: Mapping[int, Change]
) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a symbol table that change, each with its offset in the table."""
    content = elf.content(table)
    step = PIECE // SYMBOL.size * SYMBOL.size
    whole = len(content) // SYMBOL.size * SYMBOL.size
    every = [*numbers, *range(len(numbers), 1 << 16)]  # reserved numbers stay unchanged
    for at in range(0, whole, step):
        old = content.bytes(at, min(step, whole - at), table.name)
        new = _changed(old, every, by_section)
        if new != old:
            yield at, new


def _changed(old: bytes, numbers: Sequence[int], by_section: Mapping[int, Change]) -> bytes:
    """Return the changed symbols, all at once because large libraries have a million."""
    halves = array("H", old)
    if sys.byteorder == "big":
        halves.byteswap()
    sections = halves[SECTION::HALVES]
    halves[SECTION::HALVES] = array("H", map(numbers.__getitem__, sections))
    if sys.byteorder == "big":
        halves.byteswap()
    new = bytearray(halves.tobytes())
    for row in [n for n, section in enumerate(sections) if section in by_section]:
        at = row * SYMBOL.size
        change = by_section[sections[row]]
        SYMBOL.pack_into(new, at, *change.changed(SYMBOL.unpack_from(new, at)))
    return bytes(new)
