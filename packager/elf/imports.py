# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the imports of an ELF file: libraries, and versioned symbols."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from struct import Struct

from packager.elf.headers import (
    DT_NEEDED,
    DT_RPATH,
    DT_RUNPATH,
    DT_STRSZ,
    DT_STRTAB,
    SHT_DYNSYM,
    SHT_GNU_VERNEED,
    SHT_GNU_VERSYM,
    SHT_SYMTAB,
    Elf,
    Section,
)
from packager.errors import FormatError
from packager.records import NamedTuple

PREFIX = "__tgt_"
VERSION_HIDDEN = 0x8000
HALF = Struct("<H")
VERNEED = Struct("<HHIII")  # version, count, file, aux, next
VERNAUX = Struct("<IHHII")  # hash, flags, index, name, next
MAX_VERSIONS = 1 << 14


class Libraries(NamedTuple):
    """The libraries that a file needs, and the folders that it names for them."""

    needed: tuple[str, ...] = ()  # DT_NEEDED, in order
    search: tuple[str, ...] = ()  # folders of DT_RPATH and DT_RUNPATH


def libraries(elf: Elf) -> Libraries:
    """Return the libraries that a file needs, and its search paths."""
    tables = elf.of_type(SHT_DYNSYM)
    tags = elf.dynamic() if tables else {}
    paths = [offset for tag in (DT_RPATH, DT_RUNPATH) for offset in tags.get(tag, [])]
    wanted = tags.get(DT_NEEDED, [])
    if not (wanted or paths):
        return Libraries()
    names = elf.strings(tables[0].link, "dynamic strings")
    folders = (folder for offset in paths for folder in names[offset].split(":"))
    return Libraries(tuple(names[offset] for offset in wanted), tuple(folders))


class OffloadImports(NamedTuple):
    """The functions of an offload runtime that a file calls, and the libraries to have them."""

    names: tuple[str, ...] = ()  # names with versions: "__tgt_target@OMPTARGET_4.5"
    libraries: tuple[str, ...] = ()  # libraries that provide these versions


def offload_imports(elf: Elf) -> OffloadImports:
    """Return the undefined __tgt_* symbols, and the libraries of their versions."""
    tables = elf.of_type(SHT_SYMTAB if elf.is_object else SHT_DYNSYM)
    found: dict[str, None] = {}
    libraries: dict[str, None] = {}
    for table in tables[:1]:
        of_table = f"names of {table.name}"
        if not elf.string_table(table.link, of_table).holds(PREFIX.encode()):
            continue
        names = elf.strings(table.link, of_table)
        versions = _Versions(elf)
        for index, symbol in enumerate(elf.symbols(table)):
            if symbol.is_defined or not symbol.name_at:
                continue
            name = names[symbol.name_at]
            if name.startswith(PREFIX):
                library, version = versions.of(index)
                found[f"{name}@{version}" if version else name] = None
                libraries |= {library: None} if library else {}
    return OffloadImports(tuple(found), tuple(libraries))


def called(elf: Elf, wanted: Collection[str]) -> list[str]:
    """Return which of the `wanted` functions a linked file imports."""
    found: set[str] = set()
    for table in elf.of_type(SHT_DYNSYM)[:1]:
        what = f"names of {table.name}"
        text = elf.string_table(table.link, what)
        if not any(text.holds(b"\0%s\0" % name.encode()) for name in wanted):
            continue
        names = elf.strings(table.link, what)
        symbols = (s for s in elf.symbols(table) if s.name_at and not s.is_defined)
        found.update(name for symbol in symbols if (name := names[symbol.name_at]) in wanted)
    return sorted(found)


def defines(elf: Elf, name: str) -> bool:
    """Return whether the file itself defines a function, as with a static runtime."""
    for table in elf.symbol_tables():
        names = elf.strings(table.link, f"names of {table.name}")
        if any(s.is_defined and names[s.name_at] == name for s in elf.symbols(table) if s.name_at):
            return True
    return False


class Dynamic:
    """The dynamic segment of a file, found by program headers as the loader does.

    Sections may be stripped.
    """

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._values = elf.dynamic()

    def __contains__(self, tag: int) -> bool:
        return tag in self._values

    def texts(self, tag: int) -> tuple[str, ...]:
        """Return the strings of all dynamic entries with this tag, in order."""
        if tag not in self._values or DT_STRTAB not in self._values:
            return ()
        at = self._strings_at()
        return tuple(self._elf.data.string(at + n, "dynamic string") for n in self._values[tag])

    def strings(self) -> bytes:
        """Return the dynamic string table; b"" if its size is unknown."""
        if DT_STRTAB not in self._values or DT_STRSZ not in self._values:
            return b""
        size = self._values[DT_STRSZ][0]
        return self._elf.data.bytes(self._strings_at(), size, "dynamic strings")

    def _strings_at(self) -> int:
        address = self._values[DT_STRTAB][0]
        at = self._elf.offset(address, 1)
        if at is None:
            raise FormatError(f"dynamic string table at {address:#x} is in no segment")
        return at


class _Versions:
    """Version requirements of dynamic symbols; in objects the names contain them."""

    def __init__(self, elf: Elf) -> None:
        self._numbers = [elf.content(section) for section in elf.of_type(SHT_GNU_VERSYM)]
        self._names = {
            number: (library, name)
            for section in elf.of_type(SHT_GNU_VERNEED)
            for number, library, name in _needed_versions(elf, section)
        }

    def of(self, index: int) -> tuple[str, str]:
        """Return the library and version that dynamic symbol `index` requires, or ("", "")."""
        if not self._numbers:
            return "", ""
        (number,) = self._numbers[0].unpack(HALF, index * HALF.size, "symbol version")
        return self._names.get(number & ~VERSION_HIDDEN, ("", ""))


def _needed_versions(elf: Elf, section: Section) -> Iterator[tuple[int, str, str]]:
    data = elf.content(section)
    names = elf.strings(section.link, "version names")
    at = total = 0
    while total < MAX_VERSIONS:
        _, count, library, first, following = data.unpack(VERNEED, at, "needed versions")
        aux = at + first
        for _ in range(min(count, MAX_VERSIONS - total)):
            _, _, number, name, step = data.unpack(VERNAUX, aux, "needed version")
            yield number, names[library], names[name]
            aux += step
        total += count + 1
        if not following:
            return
        at += following
    raise FormatError(f"more than {MAX_VERSIONS} needed versions")
