# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make sections for a linked file without section headers, from what the dynamic loader uses.

`strip` keeps the headers; `llvm-strip --strip-sections` and packers remove them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from struct import Struct

from elftools.elf.constants import P_FLAGS, SH_FLAGS

from packager.elf.headers import (
    DT_FINI_ARRAY,
    DT_FINI_ARRAYSZ,
    DT_GNU_HASH,
    DT_HASH,
    DT_INIT_ARRAY,
    DT_INIT_ARRAYSZ,
    DT_JMPREL,
    DT_PLTRELSZ,
    DT_RELA,
    DT_RELASZ,
    DT_STRSZ,
    DT_STRTAB,
    DT_SYMTAB,
    DT_VERNEED,
    DT_VERNEEDNUM,
    DT_VERSYM,
    PT_LOAD,
    RELA,
    SHT_DYNSYM,
    SHT_FINI_ARRAY,
    SHT_GNU_VERNEED,
    SHT_GNU_VERSYM,
    SHT_INIT_ARRAY,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_STRTAB,
    SYMBOL,
    WORD,
    Elf,
    Section,
    Segment,
)
from packager.errors import FormatError

HASH = Struct("<II")  # buckets, chains: one for each symbol
GNU_HASH = Struct("<IIII")  # buckets, first symbol, words of the filter, shift
CHAIN = Struct("<I")
MAX_SYMBOLS = 1 << 24
PIECE = 1 << 14


def completed(elf: Elf) -> Elf:
    """Return `elf`, with sections from its program headers and dynamic segment if it has none.

    Raises FormatError if it has no program headers either, or if a table that the dynamic segment
    names is not in the file.
    """
    if elf.sections:
        return elf
    if not elf.segments:
        raise FormatError("has neither section headers nor program headers")
    _expect_apart(elf.segments)
    return elf.with_stand_ins([*_Finder(elf).tables(), *_loads(elf.segments)])


def _expect_apart(segments: list[Segment]) -> None:
    """Check that no two loaded segments overlap: an address in both would have two contents."""
    loads = [(n, s) for n, s in enumerate(segments) if s.type == PT_LOAD and s.file_size]
    loads.sort(key=lambda numbered: numbered[1].address)
    for (first, lower), (second, upper) in pairwise(loads):
        if upper.address < lower.address + lower.file_size:
            raise FormatError(
                f"ELF segments {first} and {second} overlap at address {upper.address:#x}"
            )


def _loads(segments: list[Segment]) -> Iterator[Section]:
    """Yield a section for the bytes of each loaded segment."""
    for number, segment in enumerate(segments):
        if segment.type != PT_LOAD or not segment.file_size:
            continue
        flags = SH_FLAGS.SHF_ALLOC
        flags |= SH_FLAGS.SHF_WRITE if segment.flags & P_FLAGS.PF_W else 0
        flags |= SH_FLAGS.SHF_EXECINSTR if segment.flags & P_FLAGS.PF_X else 0
        name = f"segment {number}"
        yield Section(
            0, name, SHT_PROGBITS, flags, segment.address, segment.offset, segment.file_size, 0, 0
        )


class _Finder:
    """The tables of the dynamic segment, numbered as sections are."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._dynamic = elf.dynamic()

    def tables(self) -> Iterator[Section]:
        yield Section(0, "", SHT_NULL, 0, 0, 0, 0, 0, 0)
        strings, symbols = self._value(DT_STRTAB), self._value(DT_SYMTAB)
        if strings and symbols:
            count = self._symbols()
            yield self._section(1, ".dynstr", SHT_STRTAB, strings, self._value(DT_STRSZ))
            yield self._section(2, ".dynsym", SHT_DYNSYM, symbols, count * SYMBOL.size, link=1)
            if versions := self._value(DT_VERSYM):
                yield self._section(3, ".gnu.version", SHT_GNU_VERSYM, versions, count * 2, link=2)
            if needs := self._value(DT_VERNEED):
                size = self._elf.held(needs)
                number = self._value(DT_VERNEEDNUM)
                yield self._section(4, ".gnu.version_r", SHT_GNU_VERNEED, needs, size, 1, number)
        if array := self._value(DT_INIT_ARRAY):
            size = self._value(DT_INIT_ARRAYSZ) // WORD.size * WORD.size
            yield self._section(5, ".init_array", SHT_INIT_ARRAY, array, size)
        if array := self._value(DT_FINI_ARRAY):
            size = self._value(DT_FINI_ARRAYSZ) // WORD.size * WORD.size
            yield self._section(6, ".fini_array", SHT_FINI_ARRAY, array, size)

    def _value(self, tag: int) -> int:
        return self._dynamic.get(tag, [0])[0]

    def _section(
        self,
        number: int,
        name: str,
        kind: int,
        address: int,
        size: int,
        link: int = 0,
        info: int = 0,
    ) -> Section:
        at = self._at(address)
        if size > self._elf.held(address):
            raise FormatError(f"{name} of {size} bytes at address {address:#x} is not in the file")
        return Section(number, name, kind, SH_FLAGS.SHF_ALLOC, address, at, size, link, info)

    def _at(self, address: int) -> int:
        at = self._elf.offset(address, 1)
        if at is None:
            raise FormatError(f"address {address:#x} of the dynamic segment is not in the file")
        return at

    def _symbols(self) -> int:
        """Return the number of dynamic symbols, which only the hash tables contain."""
        data = self._elf.data
        if table := self._value(DT_HASH):
            count = int(data.unpack(HASH, self._at(table), "hash table")[1])
        elif table := self._value(DT_GNU_HASH):
            count = self._gnu_symbols(self._at(table))
        else:
            count = 0
        if count > MAX_SYMBOLS:
            raise FormatError(f"hash table claims {count} dynamic symbols")
        return count

    def _relocated_symbols(self) -> int:
        """Return the number of symbols that relocations refer to, for a file that defines none."""
        highest = 0
        for start, size in ((DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)):
            if self._value(start):
                at, what = self._at(self._value(start)), "dynamic relocations"
                table = self._elf.data.slice(at, self._value(size), what)
                rows = self._elf.rows(RELA, table, what)
                highest = max(highest, max((row[1] >> 32 for row in rows), default=0))
        return highest + 1

    def _gnu_symbols(self, at: int) -> int:
        """Return the number of the last symbol in the GNU hash table.

        The symbol is the last of the bucket with the highest start; a set low bit ends its chain.
        """
        data, what = self._elf.data, "GNU hash table"
        buckets, first, words, _ = data.unpack(GNU_HASH, at, what)
        at += GNU_HASH.size + words * WORD.size
        table = data.bytes(at, buckets * CHAIN.size, what)
        last = max((value for (value,) in CHAIN.iter_unpack(table)), default=0)
        if last < first:
            return max(int(first), self._relocated_symbols())
        at += len(table) - first * CHAIN.size
        for number, value in enumerate(self._chain(at + last * CHAIN.size, what), last):
            if value & 1:
                return number + 1
        raise FormatError(f"{what} at {at:#x} has a chain that does not end")

    def _chain(self, at: int, what: str) -> Iterator[int]:
        data = self._elf.data
        for first in range(0, MAX_SYMBOLS * CHAIN.size, PIECE):
            left = len(data) - at - first
            piece = data.bytes(
                at + first, min(PIECE, max(left, 1)) // CHAIN.size * CHAIN.size, what
            )
            if not piece:
                return
            yield from (value for (value,) in CHAIN.iter_unpack(piece))
