"""Whether two kernels of one name are the same code, wherever their objects have it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from packager.elf import headers
from packager.elf.headers import STT_FUNC, Elf, Symbol
from packager.files.reader import open_reader
from packager.linking.inputs import Part

REACH = Struct("<i")
MAX_FUNCTIONS = 256
# What compilers number, as they come in a source: .omp_outlined..3, .L.str.1, switch.table.f.2.
NUMBERED = re.compile(r"\..*|(.*?)(?:\.\d+)+", re.DOTALL)
# A relocation, of which the place within its function and what it refers to count.
Reference = tuple[int, int, str, int]


class Function(NamedTuple):
    """A function's bytes, without those that depend on where others are, and what these are."""

    code: bytes
    references: tuple[Reference, ...]


def body(part: Part, kernel: str) -> tuple[Function, ...] | None:
    """A kernel and the functions of its object that it leads to; None where that cannot be told."""
    if part.image.kind != "elf":
        return None
    with open_reader(part.bytes.path) as file:
        data = file.slice(part.bytes.offset, part.bytes.size, "device image")
        elf = headers.read(data)
        return _Functions(elf).reached(kernel) if elf.is_object else None


class _Functions:
    """The functions of an object, and how they refer to each other."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._names: list[str] = []
        self._symbols: list[Symbol] = []
        self._starts: dict[tuple[int, int], int] = {}  # section and offset, to the symbol there
        for table in elf.of_type(headers.SHT_SYMTAB):
            names = elf.strings(table.link, "symbol names")
            for symbol in elf.symbols(table):
                self._names.append(_plain(names[symbol.name_at], symbol))
                if symbol.type == STT_FUNC and symbol.is_defined:
                    self._starts[symbol.section, symbol.value] = len(self._symbols)
                self._symbols.append(symbol)
        self._relocations = {
            section.info: section for section in elf.of_type(headers.SHT_RELA) if section.info
        }

    def reached(self, kernel: str) -> tuple[Function, ...] | None:
        """The kernel, and what its object has of what it calls, in the order of the calls."""
        waiting = [n for n in self._starts.values() if self._names[n] == kernel]
        seen: dict[int, None] = dict.fromkeys(waiting)
        found: list[Function] = []
        while waiting and len(found) < MAX_FUNCTIONS:
            function, called = self._function(self._symbols[waiting.pop(0)])
            found.append(function)
            waiting += [number for number in called if number not in seen]
            seen |= dict.fromkeys(called)
        return tuple(found) or None

    def _function(self, symbol: Symbol) -> tuple[Function, list[int]]:
        offset = self._elf.offset_of(symbol)
        if offset is None:
            return Function(b"", ()), []
        code = bytearray(self._elf.data.bytes(offset, symbol.size, "kernel"))
        called = list(self._called_by_distance(symbol, code))
        references = []
        for place, kind, number, addend in self._references(symbol):
            name, target = self._target(number, addend)
            references.append((place, kind, name, addend if target is None and name else 0))
            called += [] if target is None else [target]
        return Function(bytes(code), tuple(references)), called

    def _called_by_distance(self, symbol: Symbol, code: bytearray) -> Iterator[int]:
        """Functions of the same section, whose distance is in the code; there it is wiped out."""
        for at in range(len(code) - REACH.size + 1):
            (distance,) = REACH.unpack_from(code, at)
            target = symbol.value + at + REACH.size + distance
            number = self._starts.get((symbol.section, target))
            if number is not None and distance:
                code[at : at + REACH.size] = bytes(REACH.size)
                yield number

    def _references(self, symbol: Symbol) -> Iterator[tuple[int, int, int, int]]:
        section = self._relocations.get(symbol.section)
        if section is None:
            return
        table = self._elf.content(section)
        for place, info, addend in self._elf.rows(headers.RELA, table, section.name):
            if symbol.value <= place < symbol.value + symbol.size:
                yield place - symbol.value, info & 0xFFFFFFFF, info >> 32, addend

    def _target(self, number: int, addend: int) -> tuple[str, int | None]:
        """The name of what a relocation refers to, and the function's symbol, if it is one here:
        sections have no names, and where in them something is depends on what else is there.
        """
        if not 0 <= number < len(self._symbols):
            return "", None
        symbol = self._symbols[number]
        if not symbol.is_defined:
            return self._names[number], None
        place = symbol.value + addend + REACH.size  # from the end of the field, on x86-64
        at = self._starts.get((symbol.section, place))
        if at is not None:
            return self._names[at], at
        return self._names[number], None


def _plain(name: str, symbol: Symbol) -> str:
    """A symbol's name, of a local one without what depends on the rest of its object."""
    numbered = NUMBERED.fullmatch(name) if symbol.binding == headers.STB_LOCAL else None
    return (numbered[1] or "") if numbered else name
