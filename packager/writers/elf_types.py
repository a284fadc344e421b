"""The parts of an ELF64 relocatable object that is being written, and the ABI's numbers for them.

Numbers are from the System V ABI, <elf.h> and the x86-64 psABI.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from struct import Struct

ELF_HEADER = Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = Struct("<IIQQQQIIQQ")
SYMBOL = Struct("<IBBHQQ")
RELA = Struct("<QQq")

ET_REL = 1
EM_X86_64 = 62
ELFOSABI_GNU = 3

SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 0, 1, 2, 3, 4, 8, 9
SHT_NOTE, SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_GROUP, SHT_SYMTAB_SHNDX = 7, 14, 15, 17, 18
SHT_CREL, SHT_LLVM_ADDRSIG = 0x40000014, 0x6FFF4C03
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE, SHF_STRINGS = 0x1, 0x2, 0x4, 0x10, 0x20
SHF_INFO_LINK, SHF_GNU_RETAIN, SHF_X86_64_LARGE = 0x40, 0x200000, 0x10000000
SHN_LORESERVE = 0xFF00
STB_LOCAL, STB_GLOBAL = 0, 1
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
STV_DEFAULT, STV_HIDDEN = 0, 2
R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32 = 1, 2, 4


@dataclass(frozen=True)
class FilePart:
    """`size` bytes of the file at `path`, from `offset` on."""

    path: Path
    offset: int
    size: int


Content = tuple[bytes | FilePart, ...]


def content_size(content: Content) -> int:
    """Bytes of all parts together."""
    return sum(len(part) if isinstance(part, bytes) else part.size for part in content)


@dataclass(frozen=True)
class Relocation:
    """At `offset` of its section: the address of `symbol` plus `addend`."""

    offset: int
    symbol: str
    type: int = R_X86_64_64
    addend: int = 0


@dataclass(frozen=True)
class Section:
    """A section to be added."""

    name: str
    type: int
    flags: int
    alignment: int
    content: Content = ()
    relocations: tuple[Relocation, ...] = ()
    entry_size: int = 0

    @property
    def size(self) -> int:
        return content_size(self.content)


@dataclass(frozen=True)
class Symbol:
    """A symbol to be added; `section` indexes the added sections, None is undefined."""

    name: str
    section: int | None = None
    value: int = 0
    size: int = 0
    type: int = STT_NOTYPE
    binding: int = STB_LOCAL
    visibility: int = STV_DEFAULT


@dataclass(frozen=True)
class Header:
    """A section header with its content; name is an offset into the section-name table."""

    name: int
    type: int
    flags: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int
    content: Content
