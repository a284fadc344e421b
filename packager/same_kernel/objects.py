# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Return the code of a kernel in an object, independent of the addresses of its parts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from struct import Struct

from packager.elf import headers
from packager.elf.headers import STT_FUNC, Elf, Symbol
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.model import DeviceImage, FatBinary, KernelCode
from packager.same_kernel.reached import reached

MAX_CODE = 1 << 24  # bytes, of a GPU's kernel, and of all functions of an object
REACH = Struct("<i")
# Matches suffixes that compilers number in source order: .omp_outlined..3, .L.str.1,
# switch.table.f.2.
NUMBERED = re.compile(r"\..*|(.*?)(?:\.\d+)+", re.DOTALL)
# A relocation: offset in its function, type, referenced name and addend.
Reference = tuple[int, int, str, int]
Row = tuple[int, int, int]  # relocation: place, info, addend


def codes(data: Reader, kernels: Iterable[str]) -> dict[str, tuple[bytes, ...]]:
    """Return digests of the kernels of the object `data` and of the functions that each reaches.

    Omits kernels that `data` lacks, and those beyond MAX_CODE; returns none if it is no ELF object.
    """
    objects = _functions(data)
    found: dict[str, tuple[bytes, ...]] = {}
    for kernel in kernels if objects else ():
        with suppress(LimitError):
            if objects and (functions := objects.reached(kernel)):
                found[kernel] = functions
    return found


def digests(binary: FatBinary, data: Sequence[Reader]) -> Iterator[KernelCode]:
    """Yield the digest of each kernel's code.

    `data` has the bytes of the images. Images that the linker does not merge have no digest,
    because each of CUDA's or HIP's objects has its own. Unreadable code has none, because it equals
    no other.
    """
    joined = {index for table in binary.tables for index in table.images}
    for image, bytes_of in zip(binary.images, data, strict=True):
        if image.index in joined and image.compression is None:
            for name, functions in _kernels(image, bytes_of):
                yield KernelCode(image.index, name, _digest(b"".join(functions)))


def _digest(content: bytes) -> bytes:
    from xxhash import xxh3_128_digest  # not needed where nothing is compared

    return xxh3_128_digest(content)


def _kernels(image: DeviceImage, data: Reader) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """Yield the kernels of an image with readable code; for a GPU, just its bytes."""
    try:
        objects = _functions(data) if image.kind == "elf" else None
    except FormatError:
        return
    for symbol in image.symbols:
        if symbol.code is None or symbol.code[1] > MAX_CODE:
            continue
        offset, size = symbol.code
        try:
            if objects is None:
                yield symbol.name, (data.bytes(offset - data.at, size, "code of a kernel"),)
            elif functions := objects.reached(symbol.name):
                yield symbol.name, functions
        except (FormatError, LimitError):
            continue


def _functions(data: Reader) -> _Functions | None:
    if not headers.probe(data):
        return None
    elf = headers.read(data)
    return _Functions(elf) if elf.is_object else None


class _Functions:
    """The functions of an object, and how they refer to each other."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._read: dict[int, tuple[bytes, tuple[int, ...]]] = {}
        self._rows: dict[int, list[Row]] = {}  # relocations of a section, by their places
        self._size = 0  # size of code read
        self._names: list[str] = []
        self._symbols: list[Symbol] = []
        self._by_name: dict[str, list[int]] = defaultdict(list)
        # Symbols by offset, for each section.
        self._starts: dict[int, dict[int, int]] = defaultdict(dict)
        for table in elf.of_type(headers.SHT_SYMTAB):
            names = elf.strings(table.link, "symbol names")
            for symbol in elf.symbols(table):
                self._names.append(_plain(names[symbol.name_at], symbol))
                if symbol.type == STT_FUNC and symbol.is_defined:
                    self._starts[symbol.section][symbol.value] = len(self._symbols)
                self._symbols.append(symbol)
        for starts in self._starts.values():
            for number in starts.values():
                self._by_name[self._names[number]].append(number)
        self._relocations = {
            section.info: section for section in elf.of_type(headers.SHT_RELA) if section.info
        }

    def reached(self, kernel: str) -> tuple[bytes, ...] | None:
        """Return digests of the kernel and of the functions in its object that it reaches."""
        return reached(self._by_name.get(kernel, ()), self._function) or None

    def _function(self, number: int) -> tuple[bytes, tuple[int, ...]]:
        if number not in self._read:
            self._read[number] = self._of(self._symbols[number])
        return self._read[number]

    def _of(self, symbol: Symbol) -> tuple[bytes, tuple[int, ...]]:
        """Return the digest of a function's code and the functions that it calls.

        The digest covers the names of referenced symbols in place of the bytes that hold their
        addresses.
        """
        offset = self._elf.offset_of(symbol)
        if offset is None:
            return b"", ()
        self._size += symbol.size
        if self._size > MAX_CODE:
            raise LimitError(f"kernels with more than {MAX_CODE} bytes of code are not compared")
        code = bytearray(self._elf.data.bytes(offset, symbol.size, "kernel"))
        called = list(self._called_by_distance(symbol, code))
        references: list[Reference] = []
        for place, kind, named, addend in self._references(symbol):
            name, target = self._target(named, addend)
            references.append((place, kind, name, addend if target is None and name else 0))
            called += [] if target is None else [target]
        head = b"%d %r " % (len(code), references)
        return _digest(head + code), tuple(called)

    def _called_by_distance(self, symbol: Symbol, code: bytearray) -> Iterator[int]:
        """Yield functions of the same section that distances in the code refer to; clear these."""
        starts = self._starts[symbol.section]
        base = symbol.value + REACH.size
        for at in sorted(_places(bytes(code), base, starts)):
            (distance,) = REACH.unpack_from(code, at)  # a distance before it may be wiped out
            number = starts.get(base + at + distance)
            if number is not None and distance:
                code[at : at + REACH.size] = bytes(REACH.size)
                yield number

    def _references(self, symbol: Symbol) -> Iterator[tuple[int, int, int, int]]:
        rows = self._rows_of(symbol.section)
        start, end = symbol.value, symbol.value + symbol.size
        for number in range(bisect_left(rows, (start,)), len(rows)):
            place, info, addend = rows[number]
            if place >= end:
                return
            yield place - start, info & 0xFFFFFFFF, info >> 32, addend

    def _rows_of(self, number: int) -> list[Row]:
        if number not in self._rows:
            section = self._relocations.get(number)
            rows: list[Row] = []
            if section is not None:
                table = self._elf.content(section)
                rows += (
                    (place, info, addend)
                    for place, info, addend in self._elf.rows(headers.RELA, table, section.name)
                )
            self._rows[number] = sorted(rows, key=itemgetter(0))
        return self._rows[number]

    def _target(self, number: int, addend: int) -> tuple[str, int | None]:
        """Return the name that a relocation refers to, and the local function there, if any.

        Sections have no name: the offset in a section depends on its other contents.
        """
        if not 0 <= number < len(self._symbols):
            return "", None
        symbol = self._symbols[number]
        if not symbol.is_defined:
            return self._names[number], None
        place = symbol.value + addend + REACH.size  # relative to the end of the field, on x86-64
        at = self._starts[symbol.section].get(place)
        if at is not None:
            return self._names[at], at
        return self._names[number], None


def _places(code: bytes, base: int, starts: dict[int, int]) -> Iterator[int]:
    """Yield where a distance to one of `starts` is, from `base` on: it may be at any byte."""
    for shift in range(REACH.size):
        count = max(0, len(code) - shift) // REACH.size
        words = memoryview(code)[shift : shift + count * REACH.size].cast("i")
        ends = range(base + shift, base + shift + count * REACH.size, REACH.size)
        for number, (end, distance) in enumerate(zip(ends, words, strict=True)):
            if end + distance in starts:
                yield shift + number * REACH.size


def _plain(name: str, symbol: Symbol) -> str:
    """Return a symbol's name; for a local one, without suffixes that depend on its object."""
    numbered = NUMBERED.fullmatch(name) if symbol.binding == headers.STB_LOCAL else None
    return (numbered[1] or "") if numbered else name
