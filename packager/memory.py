"""An ELF file as the loader would leave it in memory: addresses, and pointers after relocation.

A linked file is seen at load address 0. In a relocatable object nothing has an address yet, so each
section gets a range of its own, far from the others: what reads pointers need not know which kind
of file it reads. Addresses of objects must not reach the user.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from typing import NamedTuple

from packager.elf import (
    PT_LOAD,
    RELA,
    SHT_DYNSYM,
    SHT_RELA,
    SHT_SYMTAB,
    SYMBOL,
    WORD,
    Elf,
    Section,
    Strings,
    Symbol,
)
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
# lea reg,[rip+disp32]: the opcode, and the bits of ModR/M that say so (Intel SDM, table 2-2).
X86_LEA = b"\x8d"
X86_MODRM_MASK, X86_RIP_RELATIVE = 0xC7, 0x05
# Where a section of an object begins: no section is larger than this.
SECTION_SHIFT = 40
# Data that is searched for raw pointers, at a time.
PIECE = 1 << 20
# Tables that are held in memory whole: a million entries of the largest record.
MAX_WINDOW = 1 << 26
# Pointers to one address: the start of a table may be the end of a popular object.
MAX_PLACES = 1 << 20

DT_STRTAB, DT_RELA, DT_RELASZ, DT_NEEDED = 5, 7, 8, 1
DT_RELRSZ, DT_RELR = 35, 36
STT_SECTION, STT_FILE = 3, 4
# Which of several names of one address to show: global, weak, local.
PREFERENCE = {1: 2, 2: 1, 0: 0}
UNKNOWN = (1 << 64) - 1  # of a symbol that another file defines


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

    def relocate(self, place: int, value: int | None, symbol: str | None) -> None:
        """Store a relocated pointer."""
        offset = place - self.address
        if offset < 0 or offset > len(self.data) - WORD.size:
            return  # it begins in this range but ends beyond it: not one of its pointers
        if value is None:
            self._unresolved.add(offset)
        WORD.pack_into(self.data, offset, (value or 0) % (1 << 64))
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
    def symbol_address(self, symbol: Symbol) -> int:
        """Where a symbol of this file is; UNKNOWN if it has no section."""

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


def space(elf: Elf) -> Space:
    """The address space of a file."""
    return ObjectSpace(elf) if elf.is_object else LinkedSpace(elf)


def read_window(space: Space, at: Range) -> Window:
    """A single range, relocated."""
    return space.windows([at])[0]


def _copies(space: Space, ranges: Sequence[Range]) -> list[Window]:
    windows = []
    for at in ranges:
        if at.size > MAX_WINDOW:
            raise FormatError(f"{at.what} of {at.size} bytes is too large to be real")
        offset = space.offset(at.address, at.size)
        if offset is None:
            raise FormatError(f"{at.what} is not in the file")
        windows.append(Window(at, space.elf.data.bytes(offset, at.size, at.what)))
    return windows


def _rip_relative(code: bytes, start: int) -> Iterator[int]:
    """The targets of `lea reg,[rip+disp32]` in x86-64 code at address `start`."""
    at = code.find(X86_LEA)
    while 0 <= at < len(code) - 5:
        if code[at + 1] & X86_MODRM_MASK == X86_RIP_RELATIVE:
            distance = int.from_bytes(code[at + 2 : at + 6], "little", signed=True)
            yield start + at + 6 + distance  # from the end of the instruction
        at = code.find(X86_LEA, at + 1)


def _limited(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found = set(islice(places, MAX_PLACES + 1))
    if len(found) > MAX_PLACES:
        raise FormatError(f"more than {MAX_PLACES} pointers to offload entries or images")
    return sorted(found)


class _Index:
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


class LinkedSpace(Space):
    """An executable or shared library, loaded at 0."""

    def __init__(self, elf: Elf) -> None:
        super().__init__(elf)
        self._loads = sorted((s.address, s) for s in elf.segments if s.type == PT_LOAD)
        self._starts = [address for address, _ in self._loads]
        self._dynamic = elf.dynamic()
        self._relative, self._absolute = POINTER_RELOCATIONS.get(elf.machine, NO_RELOCATIONS)
        self._names: SymbolNames | None = None

    def address(self, section: Section) -> int:
        return section.address

    def offset(self, address: int, size: int = 0) -> int | None:
        found = bisect_right(self._starts, address) - 1
        if found < 0:
            return None
        start, load = self._loads[found]
        inside = address - start
        return load.offset + inside if inside + size <= load.file_size else None

    def windows(self, ranges: Sequence[Range]) -> list[Window]:
        windows = _copies(self, ranges)
        index = _Index(windows)
        low, high, relative = index.low, index.high, self._relative
        for place, info, addend in self._relocations():
            if low <= place < high:
                self._apply(index, place, info & 0xFFFFFFFF == relative, info, addend)
        return windows  # RELR and position-dependent pointers are in place already

    def _apply(self, index: _Index, place: int, relative: bool, info: int, addend: int) -> None:
        if relative:
            for window in index.at(place):
                window.relocate(place, addend, None)
        elif info & 0xFFFFFFFF == self._absolute:
            symbol, name = self._symbol(info >> 32)
            for window in index.at(place):
                window.relocate(place, symbol.value + addend if symbol.is_defined else None, name)

    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        relative = self._relative
        found = (
            (place, addend)
            for place, info, addend in self._relocations()
            if addend in values and info & 0xFFFFFFFF == relative
        )
        has_raw = self.elf.is_executable or DT_RELR in self._dynamic
        return _limited(chain(found, self._raw_places(values) if has_raw else ()))

    def _raw_places(self, values: Collection[int]) -> Iterator[tuple[int, int]]:
        needles = [(value, WORD.pack(value)) for value in values if 0 <= value < UNKNOWN]
        for section in self.elf.sections:
            if not section.is_data:
                continue
            data = self.elf.content(section)
            for start in range(0, len(data), PIECE):
                # Pointers are aligned to 4 at least, so one may straddle two pieces.
                piece = data.bytes(start, min(PIECE + WORD.size - 1, len(data) - start))
                for value, needle in needles:
                    at = piece.find(needle)
                    while at >= 0:
                        yield section.address + start + at, value
                        at = piece.find(needle, at + 1)

    def references(
        self, functions: Collection[int], wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        for function in functions:
            code = self._code(function)
            if self.elf.is_executable:  # immediates of position-dependent code
                for address in wanted:
                    if address < 1 << 32 and address.to_bytes(4, "little") in code:
                        yield function, address
            for target in _rip_relative(code, function):
                if target in wanted:
                    yield function, target

    def _code(self, function: int) -> bytes:
        for section in self.elf.sections:
            inside = function - section.address
            if section.is_code and 0 <= inside < section.size:
                size = min(CODE_WINDOW, section.size - inside)
                return self.elf.content(section).bytes(inside, size, "constructor")
        return b""

    def symbol_address(self, symbol: Symbol) -> int:
        return symbol.value

    def _relocations(self) -> Iterator[tuple[int, int, int]]:
        """(place, info, addend) of every dynamic relocation with an addend."""
        start, size = self._dynamic.get(DT_RELA, [0])[0], self._dynamic.get(DT_RELASZ, [0])[0]
        if not size:
            return
        offset = self.offset(start, size)
        if offset is None:
            raise FormatError(f"dynamic relocations at address {start:#x} are not in the file")
        table = self.elf.data.slice(offset, size, "dynamic relocations")
        for row in self.elf.rows(RELA, table, "dynamic relocations"):
            yield row[0], row[1], row[2]

    def _symbol(self, index: int) -> tuple[Symbol, str]:
        if self._names is None:
            self._names = SymbolNames(self.elf, SHT_DYNSYM, ".dynsym")
        return self._names[index]


class ObjectSpace(Space):
    """A relocatable object: section n at n << SECTION_SHIFT."""

    def __init__(self, elf: Elf) -> None:
        super().__init__(elf)
        _, self._absolute = POINTER_RELOCATIONS.get(elf.machine, NO_RELOCATIONS)
        self._addresses: array[int] | None = None
        self._names: SymbolNames | None = None
        self._tables: dict[int, list[Section]] = {}  # relocation sections by what they relocate
        for section in elf.of_type(SHT_RELA):
            self._tables.setdefault(section.info, []).append(section)

    def address(self, section: Section) -> int:
        return section.number << SECTION_SHIFT

    def offset(self, address: int, size: int = 0) -> int | None:
        index, inside = address >> SECTION_SHIFT, address & ((1 << SECTION_SHIFT) - 1)
        if not 0 < index < len(self.elf.sections):
            return None
        section = self.elf.sections[index]
        if not section.has_bytes or inside + size > section.size:
            return None
        return section.offset + inside

    def windows(self, ranges: Sequence[Range]) -> list[Window]:
        windows = _copies(self, ranges)
        index = _Index(windows)
        for target in {at.address >> SECTION_SHIFT for at in ranges}:
            for place, info, addend in self._relocations(target):
                if not index.low <= place < index.high or info & 0xFFFFFFFF != self._absolute:
                    continue
                for window in index.at(place):
                    value = self._symbol_value(info >> 32)
                    where = None if value is None else value + addend
                    window.relocate(place, where, self._symbol_name(info >> 32))
        return windows

    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        return _limited(self._matching(values))

    def _matching(self, values: Collection[int]) -> Iterator[tuple[int, int]]:
        for section in self.elf.sections:
            for place, info, addend in self._relocations(section.number) if section.is_data else ():
                value = self._symbol_value(info >> 32)
                if value is not None and value + addend in values:
                    yield place, value + addend

    def references(
        self, functions: Collection[int], wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        starts = sorted(functions)
        for number in {function >> SECTION_SHIFT for function in functions}:
            for place, info, addend in self._relocations(number):
                value = self._symbol_value(info >> 32)
                # PC-relative addends count from the place, 4 bytes before the instruction's end.
                for target in (value + addend, value + addend + 4) if value is not None else ():
                    at = bisect_right(starts, place) - 1 if target in wanted else -1
                    if at >= 0 and place < starts[at] + CODE_WINDOW:
                        yield starts[at], target

    def symbol_address(self, symbol: Symbol) -> int:
        if 0 < symbol.section < len(self.elf.sections):
            return (symbol.section << SECTION_SHIFT) + symbol.value
        return UNKNOWN

    def _relocations(self, target: int) -> Iterator[tuple[int, int, int]]:
        """(place, info, addend) of the relocations of section `target`."""
        base = target << SECTION_SHIFT
        for section in self._tables.get(target, ()):
            table = self.elf.content(section)
            for place, info, addend in self.elf.rows(RELA, table, section.name):
                yield base + place, info, addend

    def _symbol_value(self, index: int) -> int | None:
        if self._addresses is None:
            self._addresses = self._read_symbols()
        if not 0 <= index < len(self._addresses):
            raise FormatError(f"a relocation names symbol {index} of {len(self._addresses)}")
        value = self._addresses[index]
        return None if value == UNKNOWN else value

    def _read_symbols(self) -> array[int]:
        """The addresses of all symbols; the linker's section bounds count as defined."""
        addresses = array("Q")
        for table in self.elf.of_type(SHT_SYMTAB)[:1]:
            names = self.elf.strings(table.link, "symbol names")
            for symbol in self.elf.symbols(table):
                address = self.symbol_address(symbol)
                if not symbol.is_defined and symbol.name_at:
                    address = self._bound(names[symbol.name_at])
                addresses.append(address % (1 << 64))
        return addresses

    def _bound(self, name: str) -> int:
        """What the linker will define `__start_X` and `__stop_X` as, if section X is here."""
        for prefix, at_end in (("__start_", False), ("__stop_", True)):
            sections = self.elf.named(name.removeprefix(prefix)) if name.startswith(prefix) else []
            if sections and at_end:
                return self.address(sections[-1]) + sections[-1].size
            if sections:
                return self.address(sections[0])
        return UNKNOWN

    def _symbol_name(self, index: int) -> str | None:
        if self._names is None:
            self._names = SymbolNames(self.elf, SHT_SYMTAB, ".symtab")
        return self._names[index][1] or None
