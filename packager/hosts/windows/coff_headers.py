# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""COFF objects and PE executables (Microsoft's PE Format): their machine, type and sections.

Object: machine, count of sections, …; or as a "bigobj" 0, 0xffff, version, machine, …. Executable:
"MZ", at 0x3c the place of "PE" and of what an object begins with, then an optional header.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Literal

from packager.elf.headers import SHT_PROGBITS, Section
from packager.errors import FormatError
from packager.files.names import text
from packager.files.reader import Reader
from packager.records import NamedTuple

MZ, PE = b"MZ", b"PE\0\0"
PLACE_AT, PLACE = 0x3C, Struct("<I")
# machine, sections, time, symbols at, symbols, size of the optional header, characteristics
HEADER = Struct("<HHIIIHH")
# 0, 0xffff, version, machine, time, class, size, flags, metadata's size and place, sections,
# symbols at, symbols
BIG = Struct("<HHHHI16sIIIIIII")
BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
# name, virtual size, address, size in the file, offset, offsets of relocations and lines, their
# counts, characteristics
SECTION = Struct("<8sIIIIIIHHI")
MAGIC, BASE = Struct("<H"), Struct("<24xQ")
PE32_PLUS = 0x20B
# Optional header: count of directories; offset and size of the certificates.
DIRECTORIES, CERTIFICATES = Struct("<108xI"), Struct("<144xII")
CERTIFICATE_DIRECTORY = 4
SYMBOL, BIG_SYMBOL = 18, 20
MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64", 0xA641: "aarch64"}
EXECUTABLE, LIBRARY = 0x2, 0x2000
NO_BYTES = 0x80  # flag of a section: IMAGE_SCN_CNT_UNINITIALIZED_DATA
MAX_SECTIONS = 1 << 18
NAME = 8


class Coff(NamedTuple):
    """The contents of the headers."""

    machine: str
    type: Literal["object", "executable", "shared"]
    sections: list[Section]  # converted to ELF's form, with addresses of the link


class _Tables(NamedTuple):
    machine: int
    sections: int
    sections_at: int
    strings_at: int
    characteristics: int
    base: int


def probe(data: Reader) -> bool:
    """Return whether `data` is a COFF file for a 64-bit machine; objects have no magic."""
    if data.starts_with(MZ):
        return len(data) >= PLACE_AT + PLACE.size and _is_pe(data)
    try:
        tables = _of_object(data)
    except FormatError:
        return False
    size = tables.sections_at + tables.sections * SECTION.size
    is_object = not tables.characteristics & (EXECUTABLE | LIBRARY)
    return tables.machine in MACHINES and is_object and tables.sections > 0 and size <= len(data)


def begins(data: Reader) -> bool:
    """Return whether the first bytes may begin a COFF file."""
    head = data.bytes(0, min(4, len(data)))
    is_big = head == b"\0\0\xff\xff"
    return head.startswith(MZ) or int.from_bytes(head[:2], "little") in MACHINES or is_big


def _is_pe(data: Reader) -> bool:
    (at,) = data.unpack(PLACE, PLACE_AT, "place of the PE header")
    if at + len(PE) + HEADER.size > len(data) or data.bytes(at, len(PE)) != PE:
        return False
    return HEADER.unpack(data.bytes(at + len(PE), HEADER.size))[0] in MACHINES


def read(data: Reader) -> Coff:
    """Read the headers. Raises FormatError if they are malformed."""
    tables = _of_executable(data) if data.starts_with(MZ) else _of_object(data)
    if tables.sections > MAX_SECTIONS:
        raise FormatError(f"COFF header at {data.at:#x} claims {tables.sections} sections")
    size = tables.sections * SECTION.size
    table = data.slice(tables.sections_at, size, "COFF section headers")
    rows = enumerate(SECTION.iter_unpack(table.bytes()), 1)
    sections = [_section(data, tables, number, row) for number, row in rows]
    is_linked = tables.characteristics & EXECUTABLE
    is_library = tables.characteristics & LIBRARY
    kind: Literal["object", "executable", "shared"] = "executable" if is_linked else "object"
    return Coff(MACHINES[tables.machine], "shared" if is_library else kind, sections)


def _of_object(data: Reader) -> _Tables:
    first = data.unpack(HEADER, 0, "COFF header")
    if first[:2] != (0, 0xFFFF):
        machine, sections, _, symbols_at, symbols, optional, flags = first
        strings = symbols_at + symbols * SYMBOL if symbols_at else 0
        return _Tables(machine, sections, HEADER.size + optional, strings, flags, 0)
    _, _, _, machine, _, kind, *_, sections, symbols_at, symbols = data.unpack(
        BIG, 0, "COFF header"
    )
    if kind != BIG_CLASS:
        raise FormatError(f"COFF header at {data.at:#x} has an unknown class")
    return _Tables(machine, sections, BIG.size, symbols_at + symbols * BIG_SYMBOL, 0, 0)


def _of_executable(data: Reader) -> _Tables:
    (at,) = data.unpack(PLACE, PLACE_AT, "place of the PE header")
    at += len(PE)
    machine, sections, _, symbols_at, symbols, optional, flags = data.unpack(
        HEADER, at, "PE header"
    )
    at += HEADER.size
    (magic,) = data.unpack(MAGIC, at, "PE optional header")
    if magic != PE32_PLUS:
        raise FormatError(f"PE optional header at {data.at + at:#x} is not that of a 64-bit file")
    (base,) = data.unpack(BASE, at, "PE optional header")
    strings = symbols_at + symbols * SYMBOL if symbols_at else 0
    return _Tables(machine, sections, at + optional, strings, flags, base)


def is_signed(data: Reader) -> bool:
    """Return whether an executable has certificates, which a changed byte makes invalid."""
    if not data.starts_with(MZ):
        return False
    (at,) = data.unpack(PLACE, PLACE_AT, "place of the PE header")
    at += len(PE) + HEADER.size
    (count,) = data.unpack(DIRECTORIES, at, "PE optional header")
    if count <= CERTIFICATE_DIRECTORY:
        return False
    return any(data.unpack(CERTIFICATES, at, "PE optional header"))


def _section(data: Reader, tables: _Tables, number: int, row: tuple[Any, ...]) -> Section:
    field, virtual, address, size, place, *_, flags = row
    if tables.base:  # an executable, whose bytes are padded to whole blocks
        size = min(size, virtual)
    return Section(
        number=number,
        name=_name(data, tables, field.rstrip(b"\0")),
        type=SHT_PROGBITS,
        flags=0,
        address=tables.base + address,
        offset=place,
        size=0 if flags & NO_BYTES else size,
        link=0,
        info=0,
    )


def _name(data: Reader, tables: _Tables, field: bytes) -> str:
    """Return a section's name; "/12" refers to the string table at offset 12."""
    if field[:1] != b"/" or not field[1:].isdigit() or not tables.strings_at:
        return text(field)
    return data.string(tables.strings_at + int(field[1:]), "name of a COFF section")
