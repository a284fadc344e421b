# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A relocatable object in memory: section n is placed at n << SECTION_SHIFT."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence, Set
from functools import cached_property

from packager.elf.address_space import (
    CODE_WINDOW,
    NO_RELOCATIONS,
    POINTER_RELOCATIONS,
    Space,
    copies,
    limited,
)
from packager.elf.headers import RELA, SHT_CREL, SHT_RELA, SHT_SYMTAB, Elf, Section, Symbol
from packager.elf.relocated import Range, Window, WindowIndex
from packager.elf.relocation_symbols import UNKNOWN, Symbols, table_of
from packager.elf.strings import Strings
from packager.errors import FormatError
from packager.host_machines import MACHINES

# Section n begins at n << SECTION_SHIFT; no section is larger than that.
SECTION_SHIFT = 40


class ObjectSpace(Space):
    """A relocatable object: section n at n << SECTION_SHIFT."""

    def __init__(self, elf: Elf) -> None:
        super().__init__(elf)
        _, self._absolute = POINTER_RELOCATIONS.get(elf.machine, NO_RELOCATIONS)
        self._tables: dict[int, list[Section]] = {}  # relocation sections by what they relocate
        for section in elf.of_type(SHT_RELA):
            self._tables.setdefault(section.info, []).append(section)
        self._compact = {section.info for section in elf.of_type(SHT_CREL)}

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
        if not ranges:
            return []
        windows = copies(self, ranges)
        index = WindowIndex(windows)
        for target in {at.address >> SECTION_SHIFT for at in ranges}:
            if target in self._compact:
                name = self.elf.sections[target].name
                raise FormatError(f"section {name} has CREL relocations, which are not supported")
            for place, info, addend in self._relocations(target):
                if not index.low <= place < index.high or info & 0xFFFFFFFF != self._absolute:
                    continue
                symbol = info >> 32
                base = self._symbols.value(symbol)
                for window in windows if index.is_single else index.at(place):
                    window.relocate(place, base, addend, symbol)
        return windows

    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        return limited(self._matching(values))

    def _matching(self, values: Collection[int]) -> Iterator[tuple[int, int]]:
        for section in self.elf.sections:
            for place, info, addend in self._relocations(section.number) if section.is_data else ():
                value = self._symbols.value(info >> 32)
                if value is not None and value + addend in values:
                    yield place, value + addend

    def references(
        self, functions: Collection[int], wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        machine = MACHINES.get(self.elf.machine)
        if machine is None:
            return
        starts, behind = sorted(functions), machine.reader.behind
        for number in {function >> SECTION_SHIFT for function in functions}:
            for place, info, addend in self._relocations(number):
                value = self._symbols.value(info >> 32)
                # Relative addends count from the field, and distances from an address after it.
                for target in (
                    {value + addend, value + addend + behind} if value is not None else ()
                ):
                    at = bisect_right(starts, place) - 1 if target in wanted else -1
                    if at >= 0 and place < starts[at] + CODE_WINDOW:
                        yield starts[at], target

    def targets(self, function: int, end: int) -> set[int]:
        return set()  # only linked files need this

    def symbols_at(self, table: Section, addresses: Set[int]) -> Iterator[tuple[int, Symbol]]:
        for symbol in self.elf.symbols(table):
            address = self.symbol_address(symbol)
            if address is not None and address in addresses:
                yield address, symbol

    def symbol_address(self, symbol: Symbol) -> int | None:
        if 0 < symbol.section < len(self.elf.sections):
            return (symbol.section << SECTION_SHIFT) + symbol.value
        return None

    def _relocations(self, target: int) -> Iterator[tuple[int, int, int]]:
        """Yield (place, info, addend) for each relocation of section `target`."""
        base = target << SECTION_SHIFT
        for section in self._tables.get(target, ()):
            table = self.elf.content(section)
            for place, info, addend in self.elf.rows(RELA, table, section.name):
                yield base + place, info, addend

    @cached_property
    def _symbols(self) -> Symbols:
        table = table_of(self.elf, SHT_SYMTAB)
        strings = self.elf.strings(table.link, f"names of {table.name}")
        names, values = array("I"), array("Q")
        for symbol in self.elf.symbols(table):
            value = self._value(symbol, strings)
            names.append(symbol.name_at)
            values.append(UNKNOWN if value is None else value % (1 << 64))
        return Symbols(names, values, strings)

    def _value(self, symbol: Symbol, names: Strings) -> int | None:
        """Return a symbol's address; section bounds that linkers define count as defined."""
        if not symbol.is_defined and symbol.name_at:
            return self._bound(names[symbol.name_at])
        return self.symbol_address(symbol)

    def _bound(self, name: str) -> int | None:
        """Return the address of the linker's `__start_X` or `__stop_X` of section X."""
        for prefix, at_end in (("__start_", False), ("__stop_", True)):
            if not name.startswith(prefix):
                continue
            first_and_last = self._bounds.get(name.removeprefix(prefix))
            if first_and_last and at_end:
                return self.address(first_and_last[1]) + first_and_last[1].size
            if first_and_last:
                return self.address(first_and_last[0])
        return None

    @cached_property
    def _bounds(self) -> dict[str, tuple[Section, Section]]:
        """Return the first and the last section of each name."""
        found: dict[str, tuple[Section, Section]] = {}
        for section in self.elf.sections:
            found[section.name] = (found.get(section.name, (section,))[0], section)
        return found

    def symbol_name(self, number: int) -> str | None:
        return self._symbols.name(number)
