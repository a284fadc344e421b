# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of parts of a file's memory, with their pointers relocated."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from packager.elf.headers import WORD
from packager.records import NamedTuple

MASK = (1 << 64) - 1
_store_word = WORD.pack_into


class Range(NamedTuple):
    """A range of the address space, with a name for error messages."""

    address: int
    size: int
    what: str


class Window:
    """A copy of a range with its pointers relocated."""

    def __init__(self, at: Range, data: bytes, name_of: Callable[[int], str | None]) -> None:
        self.address = at.address
        self.data = bytearray(data)
        self._name_of = name_of
        self._symbols: dict[int, int] = {}  # numbers of symbols that relocations name
        self._unresolved: set[int] = set()
        self._relocated = bytearray(len(data))  # 1 where relocations are that the file still has
        self.has_relocations = False

    def word(self, offset: int) -> int:
        """Return the 64-bit word at `offset`."""
        return int(WORD.unpack_from(self.data, offset)[0])

    def half(self, offset: int) -> int:
        """Return the 32-bit word at `offset`."""
        return int.from_bytes(self.data[offset : offset + 4], "little")

    def pointer(self, offset: int) -> int | None:
        """Return the pointer's value; None if it points to a symbol that another file defines."""
        return None if offset in self._unresolved else self.word(offset)

    def column(self, kind: str, offset: int, record: int) -> list[int]:
        """Return one field of each record of a table; `kind` is the array module's type code."""
        values = array(kind, bytes(self.data[: len(self.data) // record * record]))
        return values[offset // values.itemsize :: record // values.itemsize].tolist()

    def pointers(self, offset: int, record: int) -> list[int | None]:
        """Return the pointers at `offset` of each record."""
        values: list[int | None] = list(self.column("Q", offset, record))
        for place in self._unresolved:
            number, inside = divmod(place, record)
            if inside == offset and number < len(values):
                values[number] = None
        return values

    def symbol(self, offset: int) -> str | None:
        """Return the symbol that relocates the pointer at `offset`, or None."""
        number = self._symbols.get(offset)
        return None if number is None else self._name_of(number)

    def target(self, offset: int) -> tuple[str | None, int] | None:
        """Return a key that equal pointers share, resolved or not; None for a null pointer."""
        name = self.symbol(offset) if offset in self._unresolved else None
        value = self.word(offset)
        return (name, value) if name or value else None

    def targets(self, offset: int, record: int) -> Iterator[tuple[str | None, int] | None]:
        """Yield the key of the pointer at `offset` of each record, as `target` returns it."""
        if self._unresolved:
            return map(self.target, range(offset, len(self.data), record))
        values = self.column("Q", offset, record)
        return ((None, value) if value else None for value in values)

    def relocate(self, place: int, base: int | None, addend: int, symbol: int) -> None:
        """Store a relocated pointer, to symbol number `symbol` unless that is 0.

        `base` is None of a symbol that another file defines.
        """
        offset = place - self.address
        if offset < 0 or offset > len(self.data) - WORD.size:
            return  # the pointer crosses the end of the range
        self._relocated[offset] = self.has_relocations = True
        if base is None:
            self._unresolved.add(offset)
        _store_word(self.data, offset, ((base or 0) + addend) & MASK)
        if symbol:
            self._symbols[offset] = symbol

    def rebase(self, places: Sequence[int], addends: Sequence[int]) -> None:
        """Store pointers that are relative to the load address, which is 0: the addends."""
        data, relocated, store = self.data, self._relocated, _store_word
        start, last = self.address, len(self.data) - WORD.size
        for place, addend in zip(places, addends, strict=True):
            offset = place - start
            if 0 <= offset <= last:
                relocated[offset] = 1
                store(data, offset, addend)
        self.has_relocations = True

    def is_relocated(self, offset: int) -> bool:
        """Return whether the pointer at `offset` has a relocation."""
        return bool(self._relocated[offset])


class WindowIndex:
    """Finds the windows that a place is in; ranges may overlap, a hostile file's will."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = sorted(windows, key=lambda window: window.address)
        self._starts = [window.address for window in self._windows]
        ends = [window.address + len(window.data) for window in self._windows]
        self._furthest = list(accumulate(ends, max))
        self.is_single = len(windows) == 1  # then every place between low and high is in it
        self.low = min(self._starts, default=0)
        self.high = max(ends, default=0)

    def at(self, place: int) -> Iterator[Window]:
        """Yield the windows that contain `place`."""
        last = bisect_right(self._starts, place) - 1
        while last >= 0 and self._furthest[last] > place:
            window = self._windows[last]
            if place < window.address + len(window.data):
                yield window
            last -= 1
