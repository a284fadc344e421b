"""ELF64 little-endian files: the file header through pyelftools, the tables in bulk.

What pyelftools may raise on hostile bytes is turned into FormatError here and nowhere else. The
tables (section headers, symbols, relocations) have an entry for every function of a large program,
so they are walked with Struct.iter_unpack, in pieces, through the bounds-checked Reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from struct import Struct
from typing import Any, NamedTuple

from elftools.common.utils import struct_parse
from elftools.elf.constants import SH_FLAGS, SHN_INDICES
from elftools.elf.enums import ENUM_SH_TYPE_BASE as SHT
from elftools.elf.structs import ELFStructs

from packager.errors import FormatError
from packager.reader import Reader, text

MAGIC = b"\x7fELF"
CLASS64, LITTLE_ENDIAN = 2, 1
HEADER_SIZE = 64

SECTION_HEADER = Struct("<IIQQQQIIQQ")
PROGRAM_HEADER = Struct("<IIQQQQQQ")
SYMBOL = Struct("<IBBHQQ")
RELA = Struct("<QQq")
DYNAMIC = Struct("<qQ")
WORD = Struct("<Q")

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
STT_OBJECT, STT_FUNC = 1, 2
STB_LOCAL = 0

# -ffunction-sections gives a large object some hundred thousand sections; files claim up to 2**32.
MAX_SECTIONS = 1 << 18
MAX_SEGMENTS = 4096
# The largest tables of real programs (relocations of a browser with all its libraries) have a few
# million rows, and are walked a few times; more would keep a user waiting for minutes on a file
# made to do so. All rows read from one file count.
MAX_ROWS = 1 << 25
# Rows of a table that are in memory at one time.
PIECE = 1 << 12
# A string table up to this size is read once, beyond it string by string.
SMALL_STRINGS = 1 << 22


class Section(NamedTuple):
    """A section header, with its name."""

    number: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def is_allocated(self) -> bool:
        """Whether it is part of the program in memory."""
        return bool(self.flags & SH_FLAGS.SHF_ALLOC)

    @property
    def is_data(self) -> bool:
        """Whether it holds bytes that the program may write to: where descriptors can be."""
        wanted = SH_FLAGS.SHF_ALLOC | SH_FLAGS.SHF_WRITE
        return self.type == SHT["SHT_PROGBITS"] and self.flags & wanted == wanted

    @property
    def has_bytes(self) -> bool:
        """Whether the file holds its bytes."""
        return self.type not in (SHT["SHT_NULL"], SHT["SHT_NOBITS"])


class Segment(NamedTuple):
    """A program header."""

    type: int
    offset: int
    address: int
    file_size: int


class Symbol(NamedTuple):
    """A symbol, its name still an offset into the string table; `section` is resolved."""

    name_at: int
    binding: int
    type: int
    other: int
    section: int
    value: int
    size: int

    @property
    def is_defined(self) -> bool:
        """Whether it is defined in this file."""
        return self.section != SHN_INDICES.SHN_UNDEF


class Strings:
    """A string table; a small one is read once, since each name asks for it."""

    def __init__(self, data: Reader, what: str) -> None:
        self._data = data
        self._what = what
        self._bytes: bytes | None = None

    def __getitem__(self, offset: int) -> str:
        if len(self._data) > SMALL_STRINGS:
            return self._data.string(offset, self._what)
        if self._bytes is None:
            self._bytes = self._data.bytes(what=self._what)
        end = self._bytes.find(b"\0", offset)
        if not 0 <= offset < len(self._bytes) or end < 0:
            raise FormatError(
                f"{self._what}: offset {offset:#x} is outside {len(self._bytes)} bytes"
            )
        return text(self._bytes[offset:end])


class Elf:
    """An ELF file whose headers have been read; its tables are read when they are asked for."""

    def __init__(
        self, data: Reader, header: Any, sections: list[Section], segments: list[Segment]
    ) -> None:
        self.data = data
        self.sections = sections
        self.segments = segments
        self.machine = _machine(header.e_machine)
        self.flags = int(header.e_flags)
        self.os_abi = data.bytes(7, 1)[0]
        self.abi_version = data.bytes(8, 1)[0]
        self.is_object = header.e_type == "ET_REL"
        self.is_executable = header.e_type == "ET_EXEC"
        self.type = str(header.e_type)
        self._rows = 0

    def named(self, name: str) -> list[Section]:
        """The sections called `name`."""
        return [section for section in self.sections if section.name == name]

    def of_type(self, kind: str) -> list[Section]:
        """The sections of a type, e.g. "SHT_SYMTAB"."""
        return [section for section in self.sections if section.type == SHT[kind]]

    def content(self, section: Section) -> Reader:
        """The bytes of a section."""
        if not section.has_bytes:
            raise FormatError(f"section {section.name} holds no bytes")
        return self.data.slice(section.offset, section.size, f"section {section.name}")

    def rows(self, layout: Struct, table: Reader, what: str) -> Iterator[tuple[Any, ...]]:
        """The records of a table, a piece at a time. Raises FormatError for an absurd number."""
        count = len(table) // layout.size
        self._rows += count
        if self._rows > MAX_ROWS:
            raise FormatError(f"tables of more than {MAX_ROWS} rows (at {what}) are not read")
        for first in range(0, count, PIECE):
            size = min(PIECE, count - first) * layout.size
            yield from layout.iter_unpack(table.bytes(first * layout.size, size, what))

    def strings(self, section: int, what: str) -> Strings:
        """The string table that is section number `section`."""
        if not 0 < section < len(self.sections):
            raise FormatError(f"{what}: there is no section {section} for its strings")
        return Strings(self.content(self.sections[section]), what)

    def symbol_tables(self) -> list[Section]:
        """The symbol tables, the full one first."""
        return self.of_type("SHT_SYMTAB") + self.of_type("SHT_DYNSYM")

    def symbols(self, table: Section) -> Iterator[Symbol]:
        """The symbols of a table, in its order (the first is the null symbol)."""
        extended: Iterator[int] | None = None
        for section in self.of_type("SHT_SYMTAB_SHNDX"):
            if section.link == table.number:
                rows = self.rows(Struct("<I"), self.content(section), section.name)
                extended = (index for (index,) in rows)
        for row in self.rows(SYMBOL, self.content(table), table.name):
            name, info, other, section_index, value, size = row
            wide = next(extended, 0) if extended else 0
            if section_index == SHN_INDICES.SHN_XINDEX:
                section_index = wide
            yield Symbol(name, info >> 4, info & 15, other, section_index, value, size)

    def dynamic(self) -> dict[int, list[int]]:
        """The dynamic section: tag to values, in order."""
        found: dict[int, list[int]] = {}
        for segment in self.segments:
            if segment.type != PT_DYNAMIC:
                continue
            table = self.data.slice(segment.offset, segment.file_size, "dynamic segment")
            for tag, value in self.rows(DYNAMIC, table, "dynamic segment"):
                if tag == 0:
                    break
                found.setdefault(tag, []).append(value)
        return found

    def end(self) -> int:
        """Where the file ends by its own headers: a truncated one is shorter."""
        ends = [s.offset + s.size for s in self.sections if s.has_bytes]
        return max([s.offset + s.file_size for s in self.segments] + ends, default=HEADER_SIZE)


def probe(data: Reader) -> bool:
    """Whether `data` begins like an ELF file."""
    return data.starts_with(MAGIC)


def is_foreign(elf: Elf) -> bool:
    """Whether it is for a GPU: a device image whatever it looks like."""
    return elf.machine in GPUS


def read(data: Reader) -> Elf:
    """The headers of the ELF file in `data`.

    Raises FormatError naming the place for what is malformed, 32-bit or big-endian.
    """
    ident = data.bytes(0, min(16, len(data)), "ELF identification")
    if len(ident) < 16 or ident[4] != CLASS64 or ident[5] != LITTLE_ENDIAN:
        raise FormatError(f"ELF file at {data.at:#x} is not 64-bit little-endian")
    header = _header(data)
    if not header.e_shoff:
        return Elf(data, header, [], _segments(data, header))
    return Elf(data, header, _sections(data, header), _segments(data, header))


def _header(data: Reader) -> Any:
    raw = data.bytes(0, HEADER_SIZE, "ELF header")
    try:
        structs = ELFStructs(little_endian=True, elfclass=64)
        structs.create_basic_structs()
        return struct_parse(structs.Elf_Ehdr, BytesIO(raw))
    except Exception as error:  # pyelftools: ELFParseError, ConstructError, KeyError, …
        raise FormatError(f"ELF header at {data.at:#x} cannot be read: {error}") from error


def _sections(data: Reader, header: Any) -> list[Section]:
    if header.e_shentsize != SECTION_HEADER.size:
        raise FormatError(
            f"ELF section headers of {header.e_shentsize} bytes are not {SECTION_HEADER.size}"
        )
    first = data.unpack(SECTION_HEADER, header.e_shoff, "ELF section header 0")
    count = header.e_shnum or first[5]  # beyond 0xff00 sections, kept in section 0 (gABI)
    names_at = first[6] if header.e_shstrndx == SHN_INDICES.SHN_XINDEX else header.e_shstrndx
    if count > MAX_SECTIONS:
        raise FormatError(f"ELF header at {data.at:#x} claims {count} sections")
    table = data.slice(header.e_shoff, count * SECTION_HEADER.size, "ELF section headers")
    rows = list(SECTION_HEADER.iter_unpack(table.bytes()))
    if not 0 < names_at < count:
        raise FormatError(f"ELF section names are in section {names_at} of {count}")
    place, size = rows[names_at][4:6]
    names = Strings(data.slice(place, size, "ELF section names"), "ELF section names")
    return [
        Section(index, names[name], kind, flags, address, offset, size, link, info)
        for index, (name, kind, flags, address, offset, size, link, info, _, _) in enumerate(rows)
    ]


def _segments(data: Reader, header: Any) -> list[Segment]:
    count = header.e_phnum
    if count > MAX_SEGMENTS:
        raise FormatError(f"ELF header at {data.at:#x} claims {count} program headers")
    if count and header.e_phentsize != PROGRAM_HEADER.size:
        raise FormatError(
            f"ELF program headers of {header.e_phentsize} bytes are not {PROGRAM_HEADER.size}"
        )
    table = data.slice(header.e_phoff, count * PROGRAM_HEADER.size, "ELF program headers")
    rows = PROGRAM_HEADER.iter_unpack(table.bytes())
    return [Segment(row[0], row[2], row[3], row[5]) for row in rows]


GPUS = ("nvptx64", "amdgcn")
# ELF's names for machines that triples spell otherwise.
_MACHINES = {
    "EM_CUDA": "nvptx64",
    "EM_AMDGPU": "amdgcn",
    "EM_PPC64": "ppc64le",
    "EM_RISCV": "riscv64",
}


def _machine(value: Any) -> str:
    if not isinstance(value, str):
        return f"machine-{value}"
    return _MACHINES.get(value, value.removeprefix("EM_").lower())
