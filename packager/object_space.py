"""A relocatable object in memory: section n is placed at n << SECTION_SHIFT."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from packager.elf import RELA, SHT_RELA, SHT_SYMTAB, Elf, Section, Symbol
from packager.errors import FormatError
from packager.memory import (
    CODE_WINDOW,
    NO_RELOCATIONS,
    POINTER_RELOCATIONS,
    Range,
    Space,
    SymbolNames,
    Window,
    WindowIndex,
    copies,
    limited,
)

# Where a section begins: none is larger than this.
SECTION_SHIFT = 40
UNKNOWN = (1 << 64) - 1  # of a symbol that another file defines


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
        windows = copies(self, ranges)
        index = WindowIndex(windows)
        for target in {at.address >> SECTION_SHIFT for at in ranges}:
            for place, info, addend in self._relocations(target):
                if not index.low <= place < index.high or info & 0xFFFFFFFF != self._absolute:
                    continue
                for window in index.at(place):
                    base, name = self._symbol_value(info >> 32), self._symbol_name(info >> 32)
                    window.relocate(place, base, addend, name)
        return windows

    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        return limited(self._matching(values))

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

    def targets(self, function: int) -> set[int]:
        return set()  # what is asked of linked files only

    def symbol_address(self, symbol: Symbol) -> int | None:
        if 0 < symbol.section < len(self.elf.sections):
            return (symbol.section << SECTION_SHIFT) + symbol.value
        return None

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
                addresses.append(UNKNOWN if address is None else address % (1 << 64))
        return addresses

    def _bound(self, name: str) -> int | None:
        """What the linker will define `__start_X` and `__stop_X` as, if section X is here."""
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
        """The first and the last section of each name."""
        found: dict[str, tuple[Section, Section]] = {}
        for section in self.elf.sections:
            found[section.name] = (found.get(section.name, (section,))[0], section)
        return found

    def _symbol_name(self, index: int) -> str | None:
        if self._names is None:
            self._names = SymbolNames(self.elf, SHT_SYMTAB, ".symtab")
        return self._names[index][1] or None
