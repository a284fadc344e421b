"""An executable or shared library in memory, loaded at 0."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import cast

from packager.elf import PT_LOAD, RELA, SHT_DYNSYM, WORD, Elf, Section, Symbol
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
from packager.reader import Reader

DT_RELA, DT_RELASZ, DT_RELR = 7, 8, 36
# lea reg,[rip+disp32]: the opcode, and the bits of ModR/M that say so (Intel SDM, table 2-2).
X86_LEA = b"\x8d"
X86_MODRM_MASK, X86_RIP_RELATIVE = 0xC7, 0x05
# mov reg,imm32, as position-dependent code loads addresses.
X86_IMMEDIATE = re.compile(rb"(?=(?:[\xb8-\xbf]|\xc7[\xc0-\xc7])(.{4}))", re.S)
# Data that is searched for raw pointers, at a time.
PIECE = 1 << 20
MAX_NEEDLES = 64  # that are searched for one after the other


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
        windows = copies(self, ranges)
        index = WindowIndex(windows)
        low, high, relative = index.low, index.high, self._relative
        for place, info, addend in self._relocations():
            if low <= place < high:  # in a large program few are
                self._apply(index, place, info & 0xFFFFFFFF == relative, info, addend)
        return windows  # RELR and position-dependent pointers are in place already

    def _apply(
        self, index: WindowIndex, place: int, relative: bool, info: int, addend: int
    ) -> None:
        if relative:
            for window in index.at(place):
                window.relocate(place, 0, addend, None)
        elif info & 0xFFFFFFFF == self._absolute:
            symbol, name = self._symbol(info >> 32)
            for window in index.at(place):
                window.relocate(place, symbol.value if symbol.is_defined else None, addend, name)

    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        relative = self._relative
        found = (
            (place, addend)
            for place, info, addend in self._relocations()
            if addend in values and info & 0xFFFFFFFF == relative
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
        """The same for many values, of pointers that are aligned to 4."""
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
        for function in functions:
            code = self._code(function)
            if self.elf.is_executable:  # immediates of position-dependent code
                for address in wanted:
                    if address < 1 << 32 and address.to_bytes(4, "little") in code:
                        yield function, address
            for target in _rip_relative(code, function):
                if target in wanted:
                    yield function, target

    def targets(self, function: int) -> set[int]:
        code = self._code(function)
        found = set(_rip_relative(code, function))
        if self.elf.is_executable:
            found |= {int.from_bytes(m[1], "little") for m in X86_IMMEDIATE.finditer(code)}
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
        """Where each section of code is in memory, and its place in the list of sections."""
        sections = enumerate(self.elf.sections)
        return sorted((section.address, at) for at, section in sections if section.is_code)

    def symbol_address(self, symbol: Symbol) -> int:
        return symbol.value

    def _relocations(self) -> Iterator[tuple[int, int, int]]:
        """(place, info, addend) of every dynamic relocation with an addend."""
        start, size = self._dynamic.get(DT_RELA, [0])[0], self._dynamic.get(DT_RELASZ, [0])[0]
        if not size:
            return iter(())
        offset = self.offset(start, size)
        if offset is None:
            raise FormatError(f"dynamic relocations at address {start:#x} are not in the file")
        table = self.elf.data.slice(offset, size, "dynamic relocations")
        return cast(
            "Iterator[tuple[int, int, int]]", self.elf.rows(RELA, table, "dynamic relocations")
        )

    def _symbol(self, index: int) -> tuple[Symbol, str]:
        if self._names is None:
            self._names = SymbolNames(self.elf, SHT_DYNSYM, ".dynsym")
        return self._names[index]


def _rip_relative(code: bytes, start: int) -> Iterator[int]:
    """The targets of `lea reg,[rip+disp32]` in x86-64 code at address `start`."""
    at = code.find(X86_LEA)
    while 0 <= at < len(code) - 5:
        if code[at + 1] & X86_MODRM_MASK == X86_RIP_RELATIVE:
            distance = int.from_bytes(code[at + 2 : at + 6], "little", signed=True)
            yield start + at + 6 + distance  # from the end of the instruction
        at = code.find(X86_LEA, at + 1)
