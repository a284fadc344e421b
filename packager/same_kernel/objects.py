# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of a kernel in an object, without what depends on where its parts are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from packager.elf import headers
from packager.elf.headers import STT_FUNC, Elf, Symbol
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.model import DeviceImage, FatBinary, KernelCode
from packager.same_kernel.reached import reached

MAX_CODE = 1 << 24  # bytes, of a GPU's kernel, and of all functions of an object
REACH = Struct("<i")
# Compilers number these as they come in a source: .omp_outlined..3, .L.str.1, switch.table.f.2.
NUMBERED = re.compile(r"\..*|(.*?)(?:\.\d+)+", re.DOTALL)
# A relocation, of which the place within its function and what it refers to count.
Reference = tuple[int, int, str, int]


class Function(NamedTuple):
    """A function's bytes, without those that depend on where others are, and what these are."""

    code: bytes
    references: tuple[Reference, ...] = ()


def code(data: Reader, kernel: str) -> tuple[Function, ...] | None:
    """Return a kernel of the object `data`, and the functions there that it leads to; None where
    `data` is no ELF object, has no such kernel, or too much code.
    """
    objects = _functions(data)
    try:
        return None if objects is None else objects.reached(kernel)
    except LimitError:
        return None


def digests(binary: FatBinary, data: Sequence[Reader]) -> Iterator[KernelCode]:
    """Yield the digest of each kernel's code.

    `data` is the bytes of the images. Images that the linker does not join have none: each of
    CUDA's or HIP's objects has its own. Nor has code that cannot be read, as it equals none.
    """
    from xxhash import xxh3_128

    joined = {index for table in binary.tables for index in table.images}
    for image, bytes_of in zip(binary.images, data, strict=True):
        if image.index not in joined or image.compression is not None:
            continue
        for name, functions in _kernels(image, bytes_of):
            digest = xxh3_128()
            for function in functions:
                digest.update(b"%d " % len(function.code))
                digest.update(function.code)
                digest.update(repr(function.references).encode())
            yield KernelCode(image.index, name, digest.digest())


def _kernels(image: DeviceImage, data: Reader) -> Iterator[tuple[str, tuple[Function, ...]]]:
    """Yield the kernels of an image whose code can be read: of a GPU's, their bytes alone."""
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
                read = data.bytes(offset - data.at, size, "code of a kernel")
                yield symbol.name, (Function(read),)
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
        self._read: dict[int, tuple[Function, tuple[int, ...]]] = {}
        self._size = 0  # of their code
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
        """Return the kernel, and what its object has of what it leads to."""
        starts = [number for number in self._starts.values() if self._names[number] == kernel]
        return reached(starts, self._function) or None

    def _function(self, number: int) -> tuple[Function, tuple[int, ...]]:
        if number not in self._read:
            self._read[number] = self._of(self._symbols[number])
        return self._read[number]

    def _of(self, symbol: Symbol) -> tuple[Function, tuple[int, ...]]:
        offset = self._elf.offset_of(symbol)
        if offset is None:
            return Function(b""), ()
        self._size += symbol.size
        if self._size > MAX_CODE:
            raise LimitError(f"kernels with more than {MAX_CODE} bytes of code are not compared")
        code = bytearray(self._elf.data.bytes(offset, symbol.size, "kernel"))
        called = list(self._called_by_distance(symbol, code))
        references = []
        for place, kind, named, addend in self._references(symbol):
            name, target = self._target(named, addend)
            references.append((place, kind, name, addend if target is None and name else 0))
            called += [] if target is None else [target]
        return Function(bytes(code), tuple(references)), tuple(called)

    def _called_by_distance(self, symbol: Symbol, code: bytearray) -> Iterator[int]:
        """Yield functions of the same section whose distance is in the code, and wipe it out."""
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
        """Return the name of what a relocation refers to, and the function's symbol, if it is one
        here: sections have no names, and where in them something is depends on what else is there.
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
    """Return a symbol's name, of a local one without what depends on the rest of its object."""
    numbered = NUMBERED.fullmatch(name) if symbol.binding == headers.STB_LOCAL else None
    return (numbered[1] or "") if numbered else name
