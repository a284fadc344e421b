# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of an ELF64 relocatable object to write, and their constants.

Constants are from the System V ABI and <elf.h>; `packager.host_machines` has those of machines.
"""

from __future__ import annotations

from pathlib import Path

from packager.elf.headers import STB_LOCAL
from packager.files.reader import Reader
from packager.records import NamedTuple

ELFOSABI_GNU = 3

SHT_STRTAB, SHT_NOTE, SHT_REL, SHT_GROUP = 3, 7, 9, 17
SHT_LLVM_ADDRSIG = 0x6FFF4C03
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 0x1, 0x2, 0x4
SHF_INFO_LINK, SHF_GNU_RETAIN = 0x40, 0x200000
SHN_LORESERVE = 0xFF00
STB_GLOBAL, STB_WEAK = 1, 2
STT_NOTYPE = 0
STV_DEFAULT, STV_HIDDEN = 0, 2
NO_RELOCATION = 0  # on any machine: refers to a symbol, and changes nothing


class FilePart(NamedTuple):
    """Bytes of an open file, and its name."""

    path: Path
    data: Reader

    @property
    def size(self) -> int:
        return len(self.data)


Content = tuple[bytes | FilePart, ...]
# Content that may include unchanged parts of a host, read from its open file.
KeptContent = tuple[bytes | FilePart | Reader, ...]


def content_size(content: KeptContent) -> int:
    """Return the size of all parts in bytes."""
    return sum(part.size if isinstance(part, FilePart) else len(part) for part in content)


class Relocation(NamedTuple):
    """At `offset` of its section: the address of `symbol` plus `addend`."""

    offset: int
    symbol: str
    type: int | None = None  # the machine's number; None: a pointer
    addend: int = 0


class Section(NamedTuple):
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


class Symbol(NamedTuple):
    """A symbol to be added; `section` indexes the added sections, None is undefined."""

    name: str
    section: int | None = None
    value: int = 0
    size: int = 0
    type: int = STT_NOTYPE
    binding: int = STB_LOCAL
    visibility: int = STV_DEFAULT


class Header(NamedTuple):
    """A section header with its content; name is an offset into the section-name table."""

    name: int
    type: int
    flags: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int
    content: KeptContent
