# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports for a file that is linked already: a library, versions and symbols of it.

Symbols come behind all others. No hash table needs to know them: they are not defined here, and
relocations name them by their numbers.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from packager.editing.linked import LinkedFile
from packager.editing.parts import Kept, Part
from packager.editing.surgery import Surgery
from packager.elf.headers import (
    DT_HASH,
    DT_NEEDED,
    DT_STRSZ,
    DT_STRTAB,
    DT_SYMTAB,
    DT_VERNEED,
    DT_VERNEEDNUM,
    DT_VERSYM,
    SHT_DYNSYM,
    SHT_GNU_VERNEED,
    SHT_GNU_VERSYM,
    SHT_STRTAB,
    SYMBOL,
    Section,
)
from packager.elf.imports import HALF, MAX_VERSIONS, VERNAUX, VERNEED, VERSION_HIDDEN
from packager.errors import FormatError, UsageError
from packager.files.reader import Reader
from packager.writers.elf_types import SHF_ALLOC, STB_GLOBAL

SHT_HASH, SHT_GNU_VERDEF = 5, 0x6FFFFFFD
VERDEF = Struct("<HHHHIII")  # version, flags, index, count, hash, aux, next
HASH_WORD = Struct("<I")
FIRST_VERSION = 2  # 0 and 1 are local and global
STT_FUNC = 2


class Import(NamedTuple):
    """A function of a library, by its name and version."""

    name: str
    version: str


class _Tables(NamedTuple):
    """The tables of dynamic symbols; those of versions may not be there."""

    symbols: Section
    strings: Section
    versions: Section | None
    needed: Section | None


class _Needed(NamedTuple):
    """The symbols that a file asks other libraries for, by version."""

    numbers: dict[tuple[str, str], int]  # (library, version) to the number of the version
    records: int
    last: int  # where the last record begins


def imported(surgery: Surgery, library: str, wanted: list[Import]) -> list[int]:
    """Have the file need `library` and import functions of it; returns the symbols' numbers."""
    file = surgery.file
    tables = _tables(file)
    strings = _Strings(file, tables)
    versions = _known(file, tables, strings)
    libraries = [strings[value] for tag, value in _rows(file) if tag == DT_NEEDED]
    if library not in libraries:
        surgery.needed.append(strings.add(library))
    numbers = _version_numbers(file, tables, versions, library, wanted)
    first = tables.symbols.size // SYMBOL.size
    rows = [
        SYMBOL.pack(strings.add(w.name), STB_GLOBAL << 4 | STT_FUNC, 0, 0, 0, 0) for w in wanted
    ]
    _grow(surgery, tables.symbols, b"".join(rows))
    _grow_versions(surgery, tables, first, [numbers[w.version] for w in wanted])
    missing = {v: n for v, n in numbers.items() if (library, v) not in versions.numbers}
    if missing:
        _grow_needed(surgery, tables, versions, _needed(strings, library, missing))
    _grow_hash(surgery, len(wanted))
    strings.grow(surgery)
    return [first + number for number in range(len(wanted))]


def _rows(file: LinkedFile) -> tuple[tuple[int, int], ...]:
    if file.dynamic is None:
        raise UsageError("is static: no runtime would be loaded for it")
    return file.dynamic.rows


def _tables(file: LinkedFile) -> _Tables:
    addresses = dict(reversed(_rows(file)))

    def at(tag: int, kind: int) -> Section | None:
        found = (s for s in file.sections if s.type == kind and s.address == addresses.get(tag))
        return next(found, None)

    symbols, strings = at(DT_SYMTAB, SHT_DYNSYM), at(DT_STRTAB, SHT_STRTAB)
    if symbols is None or strings is None:
        raise UsageError("has no section header for dynamic symbols")
    needed = at(DT_VERNEED, SHT_GNU_VERNEED)
    return _Tables(symbols, strings, at(DT_VERSYM, SHT_GNU_VERSYM), needed)


class _Strings:
    """The dynamic strings, to which names are added."""

    def __init__(self, file: LinkedFile, tables: _Tables) -> None:
        self._section = tables.strings
        self._data = file.elf.content(tables.strings)
        self._added = bytearray()

    def __getitem__(self, offset: int) -> str:
        return self._data.string(offset, "dynamic string")

    def add(self, text: str) -> int:
        """The offset of a new string."""
        encoded = text.encode() + b"\0"
        found = self._added.find(encoded)
        if found < 0 or (found and self._added[found - 1]):
            found = len(self._added)
            self._added += encoded
        return self._section.size + found

    def grow(self, surgery: Surgery) -> None:
        """Write the strings with the new ones."""
        part = _grow(surgery, self._section, bytes(self._added))
        surgery.tag(DT_STRSZ, part.size)


def _grow(surgery: Surgery, section: Section, added: bytes, info: int | None = None) -> Part:
    """A table with more at its end, in another place."""
    part = Part(
        section.name, (Kept(section.offset, section.size), added), max(section.alignment, 8),
        section.type, section.flags, info=info,
    )  # fmt: skip
    surgery.rest.parts.append(part)
    surgery.move(section, part)
    return part


def _known(file: LinkedFile, tables: _Tables, strings: _Strings) -> _Needed:
    numbers: dict[tuple[str, str], int] = {}
    if tables.needed is None:
        return _Needed(numbers, 0, 0)
    data = file.elf.content(tables.needed)
    at = 0
    for record in range(1, MAX_VERSIONS):
        _, count, library, first, following = data.unpack(VERNEED, at, "needed versions")
        aux = at + first
        for _ in range(min(count, MAX_VERSIONS)):
            _, _, number, name, step = data.unpack(VERNAUX, aux, "needed version")
            numbers[strings[library], strings[name]] = number & ~VERSION_HIDDEN
            aux += step
        if not following:
            return _Needed(numbers, record, at)
        at += following
    raise FormatError(f"more than {MAX_VERSIONS} needed versions")


def _version_numbers(
    file: LinkedFile, tables: _Tables, known: _Needed, library: str, wanted: list[Import]
) -> dict[str, int]:
    """The number of each version that is wanted: its own, or the next that nobody has."""
    used = [*known.numbers.values(), *_defined(file), FIRST_VERSION - 1]
    following = max(used) + 1
    numbers: dict[str, int] = {}
    for version in dict.fromkeys(one.version for one in wanted):
        number = known.numbers.get((library, version))
        if number is None:
            number, following = following, following + 1
        numbers[version] = number
    if following >= VERSION_HIDDEN:
        raise UsageError("has no free number for another symbol version")
    return numbers


def _defined(file: LinkedFile) -> list[int]:
    """The numbers of versions that the file defines."""
    found: list[int] = []
    for section in file.elf.of_type(SHT_GNU_VERDEF):
        data, at = file.elf.content(section), 0
        for _ in range(MAX_VERSIONS):
            row = data.unpack(VERDEF, at, "defined version")
            found.append(row[2] & ~VERSION_HIDDEN)
            if not row[-1]:
                break
            at += row[-1]
    return found


def _grow_versions(surgery: Surgery, tables: _Tables, known: int, numbers: list[int]) -> None:
    """The version of each symbol; where none had any, those that are there are global."""
    added = b"".join(map(HALF.pack, numbers))
    if tables.versions is not None:
        _grow(surgery, tables.versions, added)
        return
    content = HALF.pack(0) + HALF.pack(1) * (known - 1) + added
    _new(
        surgery,
        ".gnu.version",
        SHT_GNU_VERSYM,
        DT_VERSYM,
        content,
        tables.symbols.number,
        HALF.size,
    )


def _needed(strings: _Strings, library: str, versions: dict[str, int]) -> bytes:
    """A record of versions that are needed of a library."""
    rows = [VERNEED.pack(1, len(versions), strings.add(library), VERNEED.size, 0)]
    for left, (name, number) in zip(range(len(versions))[::-1], versions.items(), strict=True):
        step = VERNAUX.size if left else 0
        rows.append(VERNAUX.pack(_elf_hash(name), 0, number, strings.add(name), step))
    return b"".join(rows)


def _grow_needed(surgery: Surgery, tables: _Tables, known: _Needed, record: bytes) -> None:
    section = tables.needed
    surgery.tag(DT_VERNEEDNUM, known.records + 1)
    if section is None:
        _new(
            surgery, ".gnu.version_r", SHT_GNU_VERNEED, DT_VERNEED, record, tables.strings.number, 0
        )
        return
    at = section.offset + known.last + VERNEED.size - 4  # `next` of the last record
    gap = section.size - known.last
    surgery.patch(at, HASH_WORD.pack(gap))
    _grow(surgery, section, record, info=known.records + 1)


def _new(
    surgery: Surgery, name: str, kind: int, tag: int, content: bytes, link: int, entry: int
) -> None:
    """A table that the file had not had."""
    info = 1 if kind == SHT_GNU_VERNEED else None
    part = Part(name, (content,), 8, kind, SHF_ALLOC, entry, link, info)
    surgery.rest.parts.append(part)
    surgery.tag(tag, part.at(0))


def _grow_hash(surgery: Surgery, count: int) -> None:
    """The old hash table counts all symbols; those that are new are in no chain."""
    table = surgery.file.dynamic
    address = table.value(DT_HASH) if table else None
    for section in surgery.file.elf.of_type(SHT_HASH):
        if section.address == address:
            data: Reader = surgery.file.elf.content(section)
            _, chains = data.unpack(Struct("<II"), 0, "hash table")
            surgery.patch(section.offset + 4, HASH_WORD.pack(chains + count))
            _grow(surgery, section, bytes(count * HASH_WORD.size))


def _elf_hash(name: str) -> int:
    """The System V ABI's hash of a name."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value
