# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An executable or shared library in memory, loaded at 0."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import chain

from packager.elf.address_space import (
    CODE_WINDOW,
    NO_RELOCATIONS,
    POINTER_RELOCATIONS,
    Space,
    copies,
    limited,
)
from packager.elf.headers import (
    DT_RELA,
    DT_RELASZ,
    DT_RELR,
    RELA,
    SHT_DYNSYM,
    SYMBOL,
    WORD,
    Elf,
    Section,
    Symbol,
)
from packager.elf.relocated import Range, Window, WindowIndex
from packager.elf.relocation_symbols import Symbols, linked
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.host_machines import MACHINES
from packager.host_machines.machine import HostMachine

# Size of a piece of data that is searched for raw pointers.
PIECE = 1 << 20
MAX_NEEDLES = 64  # most values that are searched one by one


class _Relocations:
    """A piece of a table of relocations, by column.

    Most pieces of a large program are skipped by their places.
    """

    def __init__(self, words: array[int]) -> None:
        self._words = words
        self.places = words[::3]

    @cached_property
    def kinds(self) -> array[int]:
        """Return the column r_info: type and symbol."""
        return self._words[1::3]

    @cached_property
    def addends(self) -> array[int]:
        """Return the column of addends."""
        return self._words[2::3]

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Yield the place, r_info and addend of each relocation."""
        return zip(self.places, self.kinds, self.addends, strict=True)


class LinkedSpace(Space):
    """An executable or shared library, loaded at 0."""

    def __init__(self, elf: Elf) -> None:
        super().__init__(elf)
        self._dynamic = elf.dynamic()
        self._relative, self._absolute = POINTER_RELOCATIONS.get(elf.machine, NO_RELOCATIONS)

    def address(self, section: Section) -> int:
        return section.address

    def offset(self, address: int, size: int = 0) -> int | None:
        return self.elf.offset(address, size)

    def windows(self, ranges: Sequence[Range]) -> list[Window]:
        windows = copies(self, ranges)
        index = WindowIndex(windows)
        for relocations in self._relocations():
            places = relocations.places
            if max(places) < index.low or min(places) >= index.high:
                continue  # true of nearly all relocations of a large program
            kinds = relocations.kinds
            if index.is_single and kinds.count(self._relative) == len(kinds):
                windows[0].rebase(places, relocations.addends)
                continue
            for place, info, addend in relocations.rows():
                if index.low <= place < index.high:
                    found = windows if index.is_single else index.at(place)
                    self._apply(found, place, info, addend)
        return windows  # RELR and position-dependent pointers are in place already

    def _apply(self, windows: Iterable[Window], place: int, info: int, addend: int) -> None:
        kind, symbol = info & 0xFFFFFFFF, info >> 32
        if kind == self._absolute:
            base = self._symbols.value(symbol)
        elif kind == self._relative:
            base = symbol = 0
        else:
            return
        for window in windows:
            window.relocate(place, base, addend, symbol)

    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        wanted = frozenset(values)
        found = (
            (place, addend)
            for relocations in self._relocations()
            if not wanted.isdisjoint(relocations.addends)
            for place, info, addend in relocations.rows()
            if addend in wanted and info & 0xFFFFFFFF == self._relative
        )
        has_raw = self.elf.is_executable or DT_RELR in self._dynamic
        return limited(chain(found, self._raw_places(values) if has_raw else ()))

    def _raw_places(self, values: Collection[int]) -> Iterator[tuple[int, int]]:
        if len(values) > MAX_NEEDLES:
            yield from self._raw_words(set(values))
            return
        needles = [(value, WORD.pack(value)) for value in values if 0 <= value < 1 << 64]
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

    def _raw_words(self, values: set[int]) -> Iterator[tuple[int, int]]:
        """Yield the address and value of each word aligned to 4 that equals one of `values`."""
        for section in self.elf.sections:
            data = self.elf.content(section) if section.is_data else Reader(b"")
            for start in range(-section.address % 4, len(data) - WORD.size + 1, PIECE):
                piece = data.bytes(start, min(PIECE + WORD.size - 4, len(data) - start))
                for first in (0, 4):
                    words = array("Q", piece[first : first + (len(piece) - first) // 8 * 8])
                    for number, value in enumerate(words) if not values.isdisjoint(words) else ():
                        if value in values:
                            yield section.address + start + first + number * WORD.size, value

    def references(
        self, functions: Collection[int], wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        machine = MACHINES.get(self.elf.machine)
        if machine is None:
            return
        for function in functions:
            code = self._code(function)
            if self.elf.is_executable:  # position-dependent code
                for address in wanted:
                    if machine.reader.holds(code, address):
                        yield function, address
            for target in machine.reader.relative(code, function):
                if target in wanted:
                    yield function, target

    def loads(
        self, functions: Collection[int], wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        machine = MACHINES.get(self.elf.machine)
        if machine is None:
            return
        slots = self._slots(wanted, machine)
        for function in functions if slots else ():
            for place in machine.reader.loads(self._code(function), function):
                if place in slots:
                    yield function, slots[place]

    def _slots(self, values: Collection[int], machine: HostMachine) -> dict[int, int]:
        """Return where the loader writes pointers to `values`, directly or through a symbol."""
        wanted = frozenset(values)
        found: dict[int, int] = {}
        for relocations in self._relocations():
            for place, info, addend in relocations.rows():
                kind, symbol = info & 0xFFFFFFFF, info >> 32
                value: int | None = addend
                if kind == machine.slot:
                    value = self._symbols.value(symbol)
                elif kind != self._relative:
                    continue
                if value in wanted and value is not None:
                    found[place] = value
        return found

    def targets(self, function: int, end: int) -> set[int]:
        machine = MACHINES.get(self.elf.machine)
        if machine is None:
            return set()
        code = self._code(function)[: end - function]
        found = set(machine.reader.relative(code, function))
        if self.elf.is_executable:
            found |= set(machine.reader.absolute(code))
        return found

    def _code(self, function: int) -> bytes:
        number = bisect_right(self._code_sections, (function, len(self.elf.sections))) - 1
        if number < 0:
            return b""
        start, at = self._code_sections[number]
        section, inside = self.elf.sections[at], function - start
        size = min(CODE_WINDOW, section.size - inside)
        if size <= 0:
            return b""
        return self.elf.content(section).bytes(inside, size, "constructor")

    @cached_property
    def _code_sections(self) -> list[tuple[int, int]]:
        """Return where each section of code is in memory, and its place in the list of sections."""
        sections = enumerate(self.elf.sections)
        return sorted((section.address, at) for at, section in sections if section.is_code)

    def symbols_at(self, table: Section, addresses: Set[int]) -> Iterator[tuple[int, Symbol]]:
        rows = self.elf.rows(SYMBOL, self.elf.content(table), table.name)
        return ((row[4], Symbol._make(row)) for row in rows if row[4] in addresses)

    def _relocations(self) -> Iterator[_Relocations]:
        """Yield the dynamic relocations with addends in batches."""
        start, size = self._dynamic.get(DT_RELA, [0])[0], self._dynamic.get(DT_RELASZ, [0])[0]
        if not size:
            return
        offset = self.offset(start, size)
        if offset is None:
            raise FormatError(f"dynamic relocations at address {start:#x} are not in the file")
        table = self.elf.data.slice(offset, size, "dynamic relocations")
        for words in self.elf.words(RELA.size, table, "dynamic relocations"):
            yield _Relocations(words)

    @cached_property
    def _symbols(self) -> Symbols:
        return linked(self.elf, SHT_DYNSYM)

    def symbol_name(self, number: int) -> str | None:
        return self._symbols.name(number)
