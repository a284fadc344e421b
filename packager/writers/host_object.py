# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the parts of a relocatable host object that are needed to add sections."""

from __future__ import annotations

from packager.elf.headers import (
    SHT_CREL,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    SYMBOL,
    Elf,
    Section,
    probe,
    read,
)
from packager.errors import FormatError, UsageError
from packager.files.reader import Reader
from packager.formats.device_images.bitcode import magic
from packager.host_machines import written
from packager.host_machines.machine import HostMachine
from packager.records import NamedTuple
from packager.writers.elf_types import (
    SHN_LORESERVE,
    SHT_STRTAB,
    Header,
    KeptContent,
)

# Largest alignment: padding is written, so a hostile one would make a huge file. 2 MiB pages fit.
MAX_ALIGNMENT = 1 << 24
# Sections in which GCC and clang keep intermediate code, beside or instead of machine code.
LTO_SECTIONS = (".gnu.lto_", ".llvm.lto")


class HostSymbol(NamedTuple):
    """A symbol that the host object defines or refers to."""

    number: int
    name: str
    type: int
    size: int
    is_defined: bool


class HostObject(NamedTuple):
    """A relocatable object to which sections are added."""

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
    machine: HostMachine

    def section(self, name: str) -> int | None:
        """Return the index of the first section called `name`."""
        return self.names.index(name) if name in self.names else None

    def section_size(self, index: int) -> int:
        """Return the size of a section's content in bytes."""
        return self.headers[index].size

    def symbol_table(self) -> dict[str, HostSymbol]:
        """Return the named symbols in table order; for duplicate names, the global one."""
        table: dict[str, HostSymbol] = {}
        for index, (name, info, _, shndx, _, size) in enumerate(SYMBOL.iter_unpack(self.symbols)):
            if name and info & 0xF not in (3, 4):  # neither section nor file symbols
                text = _string(self.strings, name)
                table[text] = HostSymbol(index, text, info & 0xF, size, shndx != 0)
        return table


def blank_host(machine: HostMachine) -> HostObject:
    """Return an empty object."""
    names = b"\0.symtab\0.strtab\0.shstrtab\0"
    headers = (
        Header(0, 0, 0, 0, 0, 0, 0, 0, ()),
        Header(1, SHT_SYMTAB, 0, SYMBOL.size, 2, 1, 8, SYMBOL.size, ()),
        Header(9, SHT_STRTAB, 0, 1, 0, 0, 1, 0, ()),
        Header(17, SHT_STRTAB, 0, len(names), 0, 0, 1, 0, ()),
    )
    titles = ("", ".symtab", ".strtab", ".shstrtab")
    return HostObject(
        0, 0, headers, titles, 1, 2, 3, bytes(SYMBOL.size), 1, b"\0", names, machine
    )  # fmt: skip


def read_host(data: Reader) -> HostObject:
    """Read the relocatable object in `data`; its contents are copied later.

    Raises FormatError if it is malformed, and UsageError if it is not a relocatable object of a
    known machine.
    """
    if magic.probe(data):
        raise UsageError("is LLVM bitcode; compile the host without -flto")
    if not probe(data):
        raise FormatError("is not an ELF object" if len(data) else "is empty")
    file = read(data)
    machine = written(file.machine)
    if not file.is_object:
        raise UsageError("is a linked file; bundle takes the relocatable object, before the link")
    if not file.sections:
        raise FormatError("has no section headers")
    if len(file.sections) >= SHN_LORESERVE:
        raise UsageError(f"has more than {SHN_LORESERVE - 1} sections, which is not supported")
    if any(section.name.startswith(LTO_SECTIONS) for section in file.sections):
        raise UsageError(
            "was compiled with -flto: a link would take that part and drop what bundle adds; "
            "compile the host without"
        )
    return _host_object(file, machine, tuple(_host_header(file, at) for at in file.sections))


def _host_header(file: Elf, at: Section) -> Header:
    what = f"section {at.number}"
    if at.alignment > MAX_ALIGNMENT or at.alignment & (at.alignment - 1):
        raise FormatError(f"{what} has alignment {at.alignment:#x}")
    if at.type in (SHT_SYMTAB_SHNDX, SHT_CREL):
        held = "CREL relocations" if at.type == SHT_CREL else "extended symbol indices"
        raise UsageError(f"{what} holds {held}, which are not supported")
    content: KeptContent = ()
    if at.has_bytes:
        content = (file.content(at),)
    return Header(
        at.name_at, at.type, at.flags, at.size, at.link, at.info, at.alignment, at.entry_size,
        content,
    )  # fmt: skip


def _host_object(file: Elf, machine: HostMachine, headers: tuple[Header, ...]) -> HostObject:
    tables = file.of_type(SHT_SYMTAB)
    if len(tables) != 1:
        raise FormatError(f"has {len(tables)} symbol tables")
    symtab = tables[0]
    for number, what in ((symtab.link, "string table"), (file.names_at, "section name table")):
        if number >= len(headers) or headers[number].type != SHT_STRTAB:
            raise FormatError(f"{what} is section {number}, which is not a string table")
    symbols = file.content(symtab).bytes()
    if len(symbols) % SYMBOL.size or not 0 < symtab.info <= len(symbols) // SYMBOL.size:
        raise FormatError(f"symbol table in section {symtab.number} is malformed")
    return HostObject(
        flags=file.flags,
        os_abi=file.os_abi,
        headers=headers,
        names=tuple(section.name for section in file.sections),
        symtab=symtab.number,
        strtab=symtab.link,
        shstrtab=file.names_at,
        symbols=symbols,
        local_count=symtab.info,
        strings=file.content(file.sections[symtab.link]).bytes(),
        name_strings=file.content(file.sections[file.names_at]).bytes(),
        machine=machine,
    )


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if end < 0:
        raise FormatError(f"string {offset:#x} is outside its table of {len(table)} bytes")
    return table[offset:end].decode("utf-8", "surrogateescape")
