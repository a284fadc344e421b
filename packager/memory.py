"""An ELF file as the loader would leave it in memory: addresses, and pointers after relocation.

A linked file is seen at load address 0. In a relocatable object nothing has an address yet, so each
section gets a range of its own, far from the others: what reads pointers need not know which kind
of file it reads. Addresses of objects must not reach the user.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from packager.elf import SYMBOL, WORD, Elf, Section, Strings, Symbol
from packager.errors import FormatError

# Relocations that hold a pointer: relative to the load address, and to a symbol.
POINTER_RELOCATIONS = {
    "x86_64": (8, 1),
    "aarch64": (1027, 257),
    "riscv64": (3, 2),
    "ppc64le": (22, 38),
}
NO_RELOCATIONS = (-1, -1)
# Enough code of a constructor to see what it hands to __tgt_register_lib.
CODE_WINDOW = 256
# Tables that are held in memory whole: a million entries of the largest record.
MAX_WINDOW = 1 << 26
# Pointers to one address: the start of a table may be the end of a popular object.
MAX_PLACES = 1 << 20
STT_SECTION, STT_FILE = 3, 4
# Which of several names of one address to show: global, weak, local.
PREFERENCE = {1: 2, 2: 1, 0: 0}


class Range(NamedTuple):
    """Part of the address space, and what it holds in the words of an error message."""

    address: int
    size: int
    what: str


class Window:
    """A copy of a range with its pointers relocated."""

    def __init__(self, at: Range, data: bytes) -> None:
        self.address = at.address
        self.data = bytearray(data)
        self._symbols: dict[int, str] = {}
        self._unresolved: set[int] = set()
        self.relocated: set[int] = set()  # where relocations are that the file still has

    def word(self, offset: int) -> int:
        """The 64-bit word at `offset`."""
        return int(WORD.unpack_from(self.data, offset)[0])

    def half(self, offset: int) -> int:
        """The 32-bit word at `offset`."""
        return int.from_bytes(self.data[offset : offset + 4], "little")

    def pointer(self, offset: int) -> int | None:
        """Where the pointer at `offset` leads; None if to a symbol that another file defines."""
        return None if offset in self._unresolved else self.word(offset)

    def symbol(self, offset: int) -> str | None:
        """The symbol that the pointer at `offset` names, if its relocation has one."""
        return self._symbols.get(offset)

    def target(self, offset: int) -> tuple[str | None, int] | None:
        """What equal pointers have in common, wherever they will lead; None of a null pointer."""
        name = self._symbols.get(offset) if offset in self._unresolved else None
        value = self.word(offset)
        return (name, value) if name or value else None

    def relocate(self, place: int, base: int | None, addend: int, symbol: str | None) -> None:
        """Store a relocated pointer; `base` is None of a symbol that another file defines."""
        offset = place - self.address
        if offset < 0 or offset > len(self.data) - WORD.size:
            return  # it begins in this range but ends beyond it: not one of its pointers
        self.relocated.add(offset)
        if base is None:
            self._unresolved.add(offset)
        WORD.pack_into(self.data, offset, ((base or 0) + addend) % (1 << 64))
        if symbol:
            self._symbols[offset] = symbol


class Space(ABC):
    """What formats ask of a file in memory."""

    def __init__(self, elf: Elf) -> None:
        self.elf = elf

    @abstractmethod
    def address(self, section: Section) -> int:
        """Where a section begins."""

    @abstractmethod
    def symbol_address(self, symbol: Symbol) -> int | None:
        """Where a symbol of this file is; None if it has no section."""

    @abstractmethod
    def offset(self, address: int, size: int = 0) -> int | None:
        """The file offset of `size` bytes at `address`; None where the file holds none."""

    @abstractmethod
    def windows(self, ranges: Sequence[Range]) -> list[Window]:
        """Copies of the ranges, relocated."""

    @abstractmethod
    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        """Where in writable data a pointer to one of `values` is: (place, value), sorted.

        Raises FormatError when there are more than any table of entries can have.
        """

    @abstractmethod
    def references(
        self, functions: Collection[int], wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        """(function, address) where the beginning of a function refers to a `wanted` address."""

    @abstractmethod
    def targets(self, function: int) -> set[int]:
        """The addresses that the beginning of a function refers to, in code that is understood."""

    def symbol_names(self, addresses: set[int]) -> dict[int, str]:
        """The symbols at these addresses, where the file still has any."""
        best: dict[int, tuple[int, int, Strings]] = {}
        for table in self.elf.symbol_tables() if addresses else ():
            names = self.elf.strings(table.link, f"names of {table.name}")
            for symbol in self.elf.symbols(table):
                address = self.symbol_address(symbol)
                if address not in addresses or not symbol.is_defined or not symbol.name_at:
                    continue
                preference = PREFERENCE.get(symbol.binding, -1)
                known = best[address][0] if address in best else -1
                if preference > known and symbol.type not in (STT_SECTION, STT_FILE):
                    best[address] = (preference, symbol.name_at, names)
            if best:
                break  # what .symtab knows, .dynsym does not know better
        return {address: names[at] for address, (_, at, names) in best.items()}


def read_window(space: Space, at: Range) -> Window:
    """A single range, relocated."""
    return space.windows([at])[0]


def copies(space: Space, ranges: Sequence[Range]) -> list[Window]:
    """The ranges as the file has them, not relocated yet."""
    windows = []
    for at in ranges:
        if at.size > MAX_WINDOW:
            raise FormatError(f"{at.what} of {at.size} bytes is too large to be real")
        offset = space.offset(at.address, at.size)
        if offset is None:
            raise FormatError(f"{at.what} is not in the file")
        windows.append(Window(at, space.elf.data.bytes(offset, at.size, at.what)))
    return windows


def limited(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What `Space.places` returns: the places sorted, unless they are absurdly many."""
    found = set(islice(places, MAX_PLACES + 1))
    if len(found) > MAX_PLACES:
        raise FormatError(f"more than {MAX_PLACES} pointers to offload entries or images")
    return sorted(found)


class WindowIndex:
    """Finds the windows that a place is in; ranges may overlap, a hostile file's will."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = sorted(windows, key=lambda window: window.address)
        self._starts = [window.address for window in self._windows]
        ends = [window.address + len(window.data) for window in self._windows]
        self._furthest = list(accumulate(ends, max))
        self.low = min(self._starts, default=0)
        self.high = max(ends, default=0)

    def at(self, place: int) -> Iterator[Window]:
        """The windows that contain `place`."""
        last = bisect_right(self._starts, place) - 1
        while last >= 0 and self._furthest[last] > place:
            window = self._windows[last]
            if place < window.address + len(window.data):
                yield window
            last -= 1


class SymbolNames:
    """Symbols by number, for the few that relocations of interest name."""

    def __init__(self, elf: Elf, kind: int, what: str) -> None:
        tables = elf.of_type(kind)
        if not tables:
            raise FormatError(f"relocations name symbols but there is no {what}")
        self._what = f"symbol table {tables[0].name}"
        self._table = elf.content(tables[0])
        self._strings = elf.strings(tables[0].link, f"names of {self._what}")

    def __getitem__(self, index: int) -> tuple[Symbol, str]:
        row = self._table.unpack(SYMBOL, index * SYMBOL.size, f"symbol {index} of {self._what}")
        name, info, other, section, value, size = row
        symbol = Symbol(name, info >> 4, info & 15, other, section, value, size)
        return symbol, self._strings[name] if name else ""
