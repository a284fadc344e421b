"""Reads a relocatable host object as far as adding sections to it needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from packager.elf import (
    ET_REL,
    HEADER,
    SECTION_HEADER,
    SHT_NOBITS,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    SYMBOL,
)
from packager.errors import FormatError, UsageError
from packager.reader import Reader
from packager.writers.elf_types import (
    EM_X86_64,
    SHN_LORESERVE,
    SHT_CREL,
    SHT_STRTAB,
    Content,
    FilePart,
    Header,
)

# Padding is written out, so a hostile alignment must not become a huge file. 2 MiB pages fit.
MAX_ALIGNMENT = 1 << 24
# Where GCC and clang keep the intermediate code of an object, beside or instead of machine code.
LTO_SECTIONS = (".gnu.lto_", ".llvm.lto")


@dataclass(frozen=True)
class HostSymbol:
    """A symbol that the host object defines or refers to."""

    index: int
    name: str
    type: int
    size: int
    is_defined: bool


@dataclass(frozen=True)
class HostObject:
    """A relocatable object to which sections are added."""

    machine: int
    flags: int
    os_abi: int
    headers: tuple[Header, ...]
    names: tuple[str, ...]
    symtab: int  # section index of the symbol table
    strtab: int
    shstrtab: int
    symbols: bytes
    local_count: int
    strings: bytes
    name_strings: bytes

    def section(self, name: str) -> int | None:
        """The index of the first section called `name`."""
        return self.names.index(name) if name in self.names else None

    def section_size(self, index: int) -> int:
        """Bytes of a section's content."""
        return self.headers[index].size

    def symbol_table(self) -> dict[str, HostSymbol]:
        """Named symbols in table order; where a name is there twice, the global wins."""
        table: dict[str, HostSymbol] = {}
        for index, (name, info, _, shndx, _, size) in enumerate(SYMBOL.iter_unpack(self.symbols)):
            if name and info & 0xF not in (3, 4):  # neither section nor file symbols
                text = _string(self.strings, name)
                table[text] = HostSymbol(index, text, info & 0xF, size, shndx != 0)
        return table


def blank_host(machine: int = EM_X86_64) -> HostObject:
    """An object with nothing in it."""
    names = b"\0.symtab\0.strtab\0.shstrtab\0"
    headers = (
        Header(0, 0, 0, 0, 0, 0, 0, 0, ()),
        Header(1, SHT_SYMTAB, 0, SYMBOL.size, 2, 1, 8, SYMBOL.size, ()),
        Header(9, SHT_STRTAB, 0, 1, 0, 0, 1, 0, ()),
        Header(17, SHT_STRTAB, 0, len(names), 0, 0, 1, 0, ()),
    )
    titles = ("", ".symtab", ".strtab", ".shstrtab")
    return HostObject(machine, 0, 0, headers, titles, 1, 2, 3, bytes(SYMBOL.size), 1, b"\0", names)


def read_host(path: Path, data: Reader) -> HostObject:
    """The relocatable object in `data`, which is the file at `path`.

    Raises FormatError when it is malformed, UsageError when it is no x86-64 relocatable object.
    """
    if data.starts_with(b"BC\xc0\xde") or data.starts_with(b"\xde\xc0\x17\x0b"):
        raise UsageError("is LLVM bitcode; compile the host without -flto")
    if not data.starts_with(b"\x7fELF"):
        raise FormatError("is not an ELF object" if len(data) else "is empty")
    ident, kind, machine, _, _, _, section_at, flags, _, _, _, record, count, names_at = (
        data.unpack(HEADER, 0, "ELF header")
    )
    if ident[4:6] != b"\x02\x01" or machine != EM_X86_64:
        raise UsageError(f"is not an x86-64 object (ELF machine {machine})")
    if kind != ET_REL:
        raise UsageError("is a linked file; bundle takes the relocatable object, before the link")
    if section_at and not count:
        raise UsageError(f"has more than {SHN_LORESERVE - 1} sections, which is not supported")
    if record != SECTION_HEADER.size or not 0 < count < SHN_LORESERVE or names_at >= count:
        raise FormatError(f"section header table at {section_at:#x} is malformed")
    table = data.slice(section_at, count * record, "section header table").bytes()
    raw = list(SECTION_HEADER.iter_unpack(table))
    headers = tuple(_host_header(path, data, number, fields) for number, fields in enumerate(raw))
    return _host_object(data, raw, headers, (machine, flags, ident[7], names_at))


def _host_header(path: Path, data: Reader, number: int, fields: tuple[int, ...]) -> Header:
    name, kind, flags, _, offset, size, link, info, alignment, entry_size = fields
    what = f"section {number}"
    if alignment > MAX_ALIGNMENT or alignment & (alignment - 1):
        raise FormatError(f"{what} has alignment {alignment:#x}")
    if kind in (SHT_SYMTAB_SHNDX, SHT_CREL):
        held = "CREL relocations" if kind == SHT_CREL else "extended symbol indices"
        raise UsageError(f"{what} holds {held}, which are not supported")
    if kind in (0, SHT_NOBITS):
        return Header(name, kind, flags, size, link, info, alignment, entry_size, ())
    view = data.slice(offset, size, what)
    content: Content = (FilePart(path, view.at, size),)
    return Header(name, kind, flags, size, link, info, alignment, entry_size, content)


def _host_object(
    data: Reader,
    raw: list[tuple[int, ...]],
    headers: tuple[Header, ...],
    ids: tuple[int, int, int, int],
) -> HostObject:
    machine, flags, os_abi, shstrtab = ids
    tables = [number for number, header in enumerate(headers) if header.type == SHT_SYMTAB]
    if len(tables) != 1:
        raise FormatError(f"has {len(tables)} symbol tables")
    symtab = tables[0]
    strtab, local_count = headers[symtab].link, headers[symtab].info
    for number, what in ((strtab, "string table"), (shstrtab, "section name table")):
        if number >= len(headers) or headers[number].type != SHT_STRTAB:
            raise FormatError(f"{what} is section {number}, which is no string table")

    def content(number: int) -> bytes:
        return data.bytes(raw[number][4], raw[number][5], f"section {number}")

    symbols, name_strings = content(symtab), content(shstrtab)
    if len(symbols) % SYMBOL.size or not 0 < local_count <= len(symbols) // SYMBOL.size:
        raise FormatError(f"symbol table in section {symtab} is malformed")
    names = tuple(_string(name_strings, header.name) for header in headers)
    if any(name.startswith(LTO_SECTIONS) for name in names):
        raise UsageError(
            "was compiled with -flto: a link would take that part and drop what bundle adds; "
            "compile the host without"
        )
    return HostObject(
        machine, flags, os_abi, headers, names, symtab, strtab, shstrtab,
        symbols, local_count, content(strtab), name_strings,
    )  # fmt: skip


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if end < 0:
        raise FormatError(f"string {offset:#x} is outside its table of {len(table)} bytes")
    return table[offset:end].decode("utf-8", "surrogateescape")
