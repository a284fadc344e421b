# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Add imports to a linked file: a library, its versions and symbols.

New symbols follow all others. Hash tables need not list them: they are not defined here, and
relocations refer to them by number.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.editing.linked import LinkedFile
from packager.editing.plan import Kept, Part, Patch, Plan, Tag, joined
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
from packager.records import NamedTuple
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
    """The tables of dynamic symbols; those of versions may be absent."""

    symbols: Section
    strings: Section
    versions: Section | None
    needed: Section | None


class _Needed(NamedTuple):
    """The versions that a file needs from other libraries."""

    numbers: dict[tuple[str, str], int]  # (library, version) to the number of the version
    records: int
    last: int  # offset of the last record


class Imported(NamedTuple):
    """The numbers of new symbols, and the tables that have them."""

    numbers: list[int]
    plan: Plan


def imported(file: LinkedFile, library: str, wanted: list[Import]) -> Imported:
    """Add `library` to the file's needs, and import functions of it."""
    tables = _tables(file)
    strings = _Strings(file, tables)
    versions = _known(file, tables, strings)
    libraries = [strings[value] for tag, value in _rows(file) if tag == DT_NEEDED]
    needed = () if library in libraries else (strings.add(library),)
    numbers = _version_numbers(file, tables, versions, library, wanted)
    first = tables.symbols.size // SYMBOL.size
    rows = [
        SYMBOL.pack(strings.add(w.name), STB_GLOBAL << 4 | STT_FUNC, 0, 0, 0, 0) for w in wanted
    ]
    plans = [
        Plan((_grown(tables.symbols, b"".join(rows)),), needed=needed),
        _versions(tables, first, [numbers[w.version] for w in wanted]),
    ]
    missing = {v: n for v, n in numbers.items() if (library, v) not in versions.numbers}
    if missing:
        plans.append(_grown_needed(tables, versions, _needed(strings, library, missing)))
    plans += [*_hash_tables(file, len(wanted)), strings.plan()]
    return Imported([first + number for number in range(len(wanted))], joined(plans))


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
        """Return the offset of a string; append the string if it is new."""
        encoded = text.encode() + b"\0"
        found = self._added.find(encoded)
        if found < 0 or (found and self._added[found - 1]):
            found = len(self._added)
            self._added += encoded
        return self._section.size + found

    def plan(self) -> Plan:
        """Return the plan for the string table with the added strings."""
        part = _grown(self._section, bytes(self._added))
        return Plan((part,), tags=(Tag(DT_STRSZ, part.size),))


def _grown(section: Section, added: bytes, info: int | None = None) -> Part:
    """Return a part that holds a section's bytes and `added`, in another place."""
    return Part(
        "rest", section.name, (Kept(section.offset, section.size), added),
        max(section.alignment, 8), section.type, section.flags, info=info, takes=section,
    )  # fmt: skip


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
    """Return a number for each wanted version: its present one, or the next unused one."""
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
    """Return the numbers of versions that the file defines."""
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


def _versions(tables: _Tables, known: int, numbers: list[int]) -> Plan:
    """Return the plan for the table of symbol versions.

    If the file has no such table, its present symbols get the global version.
    """
    added = b"".join(map(HALF.pack, numbers))
    if tables.versions is not None:
        return Plan((_grown(tables.versions, added),))
    content = HALF.pack(0) + HALF.pack(1) * (known - 1) + added
    link = tables.symbols.number
    part = Part("rest", ".gnu.version", (content,), 8, SHT_GNU_VERSYM, SHF_ALLOC, HALF.size, link)
    return Plan((part,), tags=(Tag(DT_VERSYM, part.at(0)),))


def _needed(strings: _Strings, library: str, versions: dict[str, int]) -> bytes:
    """Return a record of the versions that the file needs from a library."""
    rows = [VERNEED.pack(1, len(versions), strings.add(library), VERNEED.size, 0)]
    for left, (name, number) in zip(range(len(versions))[::-1], versions.items(), strict=True):
        step = VERNAUX.size if left else 0
        rows.append(VERNAUX.pack(_elf_hash(name), 0, number, strings.add(name), step))
    return b"".join(rows)


def _grown_needed(tables: _Tables, known: _Needed, record: bytes) -> Plan:
    section = tables.needed
    count = Tag(DT_VERNEEDNUM, known.records + 1)
    if section is None:
        part = Part(
            "rest", ".gnu.version_r", (record,), 8, SHT_GNU_VERNEED, SHF_ALLOC,
            link=tables.strings.number, info=1,
        )  # fmt: skip
        return Plan((part,), tags=(count, Tag(DT_VERNEED, part.at(0))))
    at = section.offset + known.last + VERNEED.size - 4  # `next` of the last record
    part = _grown(section, record, info=known.records + 1)
    return Plan((part,), (Patch(at, HASH_WORD.pack(section.size - known.last)),), tags=(count,))


def _hash_tables(file: LinkedFile, count: int) -> Iterator[Plan]:
    """Yield a plan for the DT_HASH table, which counts all symbols; new ones are in no chain."""
    address = dict(reversed(_rows(file))).get(DT_HASH)
    for section in file.elf.of_type(SHT_HASH):
        if section.address == address:
            data: Reader = file.elf.content(section)
            _, chains = data.unpack(Struct("<II"), 0, "hash table")
            patch = Patch(section.offset + 4, HASH_WORD.pack(chains + count))
            yield Plan((_grown(section, bytes(count * HASH_WORD.size)),), (patch,))


def _elf_hash(name: str) -> int:
    """Return the System V ABI's hash of a name."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value
