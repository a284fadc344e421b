# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ELF64 little-endian files: headers are read when a file is opened, tables when they are used.

The numbers are pyelftools'. The bytes are read by Reader and Struct.iter_unpack, in pieces: tables
have a row for every function of a large program, files are hostile, and importing and running
pyelftools' parser takes longer than all of a `dump`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import chain, repeat
from operator import attrgetter
from struct import Struct
from typing import Any

from elftools.elf.constants import SH_FLAGS, SHN_INDICES

from packager.elf.strings import Strings
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.records import NamedTuple

MAGIC = b"\x7fELF"
CLASS64, LITTLE_ENDIAN = 2, 1

HEADER = Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = Struct("<IIQQQQIIQQ")
PROGRAM_HEADER = Struct("<IIQQQQQQ")
SYMBOL = Struct("<IBBHQQ")
RELA = Struct("<QQq")
DYNAMIC = Struct("<qQ")
WORD = Struct("<Q")
# Fields in the first word of a symbol: its name, and the least value with a section.
NAME, DEFINED = 0xFFFFFFFF, 1 << 48
WIDE_INDEX = Struct("<I")

ET_REL, ET_EXEC, ET_DYN = 1, 2, 3
SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = 0, 1, 2, 3, 4
SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 7, 8, 11
SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_SYMTAB_SHNDX = 14, 15, 18
SHT_GNU_VERNEED, SHT_GNU_VERSYM = 0x6FFFFFFE, 0x6FFFFFFF
SHT_CREL = 0x40000014
NO_BYTES = (SHT_NULL, SHT_NOBITS)
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_PLTRELSZ, DT_HASH, DT_STRTAB, DT_SYMTAB = 1, 2, 4, 5, 6
DT_RELA, DT_RELASZ, DT_STRSZ, DT_SONAME, DT_RPATH = 7, 8, 10, 14, 15
DT_JMPREL, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, DT_RUNPATH, DT_RELR = 23, 25, 27, 29, 36
DT_FINI_ARRAY, DT_FINI_ARRAYSZ = 26, 28
DT_GNU_HASH, DT_VERSYM, DT_FLAGS_1 = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFB
DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
STT_OBJECT, STT_FUNC = 1, 2
STB_LOCAL = 0

# -ffunction-sections gives a large object some hundred thousand sections; files claim up to 2**32.
MAX_SECTIONS = 1 << 18
MAX_SEGMENTS = 4096
EM_CUDA = 190
# Names of e_machine values, as in the first part of a triple.
MACHINES = {
    3: "i386",
    22: "s390x",
    62: "x86_64",
    183: "aarch64",
    EM_CUDA: "nvptx64",
    205: "intelgt",
    21: "ppc64le",
    224: "amdgcn",
    243: "riscv64",
    258: "loongarch64",
}
GPUS = ("nvptx64", "amdgcn", "intelgt")
# NVIDIA's types of sections without bytes in the file, read as SHT_NOBITS: global, local, shared
# and reserved shared memory. Found in output of ptxas and nvlink.
CUDA_NOBITS = frozenset((0x70000007, 0x70000009, 0x7000000A, 0x70000015))

DEBUG_INFO = frozenset((".debug_info", ".zdebug_info"))

# Most rows read from one file. The largest tables of real programs (relocations of a browser with
# all its libraries) have a few million rows, and are read a few times. A hostile file with more
# rows would take minutes.
MAX_ROWS = 1 << 25
# Rows of a table in memory at a time.
SMALL_TABLE = 1 << 16  # bytes of a table of symbols that is kept for further passes
PIECE = 1 << 12


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
    alignment: int = 0
    entry_size: int = 0
    name_at: int = 0  # offset in the table of their names

    @property
    def is_allocated(self) -> bool:
        """Return whether the section is part of the program in memory."""
        return bool(self.flags & SH_FLAGS.SHF_ALLOC)

    @property
    def is_data(self) -> bool:
        """Return whether the section is writable data, which may hold descriptors."""
        wanted = SH_FLAGS.SHF_ALLOC | SH_FLAGS.SHF_WRITE
        return self.type == SHT_PROGBITS and self.flags & wanted == wanted

    @property
    def is_code(self) -> bool:
        """Return whether the section holds instructions."""
        return self.type == SHT_PROGBITS and bool(self.flags & SH_FLAGS.SHF_EXECINSTR)

    @property
    def has_bytes(self) -> bool:
        """Return whether the file holds the section's bytes."""
        return self.type not in NO_BYTES


class Segment(NamedTuple):
    """A program header."""

    type: int
    flags: int
    offset: int
    address: int
    physical: int
    file_size: int
    memory_size: int
    alignment: int

    @property
    def end(self) -> int:
        """Return where it ends in the file."""
        return self.offset + self.file_size

    @property
    def memory_end(self) -> int:
        """Return where it ends in memory."""
        return self.address + self.memory_size

    def holds(self, address: int) -> bool:
        """Return whether an address is in it."""
        return self.address <= address < self.memory_end


class Symbol(NamedTuple):
    """A symbol as its table has it, but `section` is resolved."""

    name_at: int
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def binding(self) -> int:
        """Return the binding, e.g. STB_LOCAL."""
        return self.info >> 4

    @property
    def type(self) -> int:
        """Return the type, e.g. STT_FUNC."""
        return self.info & 15

    @property
    def is_defined(self) -> bool:
        """Return whether this file defines the symbol."""
        return self.section != SHN_INDICES.SHN_UNDEF


# Faster than Section._make, which checks the number of fields of each row.
_section: Callable[[tuple[Any, ...]], Section] = partial(tuple.__new__, Section)
_symbol: Callable[[tuple[Any, ...]], Symbol] = partial(tuple.__new__, Symbol)


class _Header(NamedTuple):
    ident: bytes
    type: int
    machine: int
    version: int
    entry: int
    segments_at: int
    sections_at: int
    flags: int
    size: int
    segment_size: int
    segments: int
    section_size: int
    sections: int
    names: int


class Elf:
    """An ELF file with its headers; tables are read on demand."""

    def __init__(
        self, data: Reader, header: _Header, sections: list[Section], segments: list[Segment]
    ) -> None:
        self.data = data
        self.sections = sections
        self.has_headers = bool(sections)  # False: the sections are stand-ins, if there are any
        self.segments = segments
        self.sections_at = header.sections_at
        self.segments_at = header.segments_at
        self.machine = MACHINES.get(header.machine, f"machine-{header.machine}")
        self.flags = header.flags
        self.os_abi = header.ident[7]
        self.abi_version = header.ident[8]
        self.is_object = header.type == ET_REL
        self.is_executable = header.type == ET_EXEC
        self.is_dynamic = header.type == ET_DYN
        self.names_at = _names_at(header, sections[0].link if sections else 0)
        self._rows = 0
        self._strings: dict[tuple[int, str], Strings] = {}
        self._symbols: dict[int, list[Symbol]] = {}

    def with_stand_ins(self, sections: list[Section]) -> Elf:
        """Return a copy of this file with `sections` in place of its section headers."""
        from copy import copy  # slow to load

        other = copy(self)
        other.sections = sections
        other._strings, other._symbols = {}, {}  # noqa: SLF001
        return other

    def named(self, name: str) -> list[Section]:
        """Return the sections called `name`."""
        return [section for section in self.sections if section.name == name]

    def of_type(self, kind: int) -> list[Section]:
        """Return the sections of a type."""
        return [section for section in self.sections if section.type == kind]

    def content(self, section: Section) -> Reader:
        """Return a reader of a section's bytes."""
        if not section.has_bytes:
            raise FormatError(f"section {section.name} holds no bytes")
        return self.data.slice(section.offset, section.size, f"section {section.name}")

    def rows(self, layout: Struct, table: Reader, what: str) -> Iterator[tuple[int, ...]]:
        """Yield the records of a table, read in pieces. Raises FormatError for too many records."""
        count = len(table) // layout.size
        self._count(count, what)
        for first in range(0, count, PIECE):
            size = min(PIECE, count - first) * layout.size
            yield from layout.iter_unpack(table.bytes(first * layout.size, size, what))

    def words(self, record: int, table: Reader, what: str) -> Iterator[array[int]]:
        """Yield the records of a table in pieces, each an array of 64-bit words."""
        count = len(table) // record
        self._count(count, what)
        for first in range(0, count, PIECE):
            size = min(PIECE, count - first) * record
            yield array("Q", table.bytes(first * record, size, what))

    def _count(self, rows: int, what: str) -> None:
        self._rows += rows
        if self._rows > MAX_ROWS:
            raise LimitError(f"tables of more than {MAX_ROWS} rows (at {what}) are not read")

    def strings(self, section: int, what: str) -> Strings:
        """Return the string table in section number `section`."""
        key = (section, what)
        if key not in self._strings:
            self._strings[key] = Strings(self.string_table(section, what), what)
        return self._strings[key]

    def string_table(self, section: int, what: str) -> Reader:
        """Return the bytes of string table `section`. Raises FormatError if it does not exist."""
        if not 0 < section < len(self.sections):
            raise FormatError(f"{what}: there is no section {section} for its strings")
        return self.content(self.sections[section])

    def symbol_tables(self) -> list[Section]:
        """Return the symbol tables: .symtab before .dynsym."""
        return self.of_type(SHT_SYMTAB) + self.of_type(SHT_DYNSYM)

    def symbols(self, table: Section) -> Iterator[Symbol]:
        """Yield the symbols of a table in order; the first is the null symbol."""
        if table.size > SMALL_TABLE:
            return self._parsed(table)
        if table.number not in self._symbols:
            self._symbols[table.number] = list(self._parsed(table))
        return iter(self._symbols[table.number])

    def _parsed(self, table: Section) -> Iterator[Symbol]:
        symbols = map(_symbol, self.rows(SYMBOL, self.content(table), table.name))
        for section in self.of_type(SHT_SYMTAB_SHNDX):
            if section.link == table.number:
                wide = self.rows(WIDE_INDEX, self.content(section), section.name)
                return map(_widened, symbols, chain(wide, repeat((0,))))
        return symbols

    def undefined(self, table: Section) -> Iterator[tuple[int, Symbol]]:
        """Yield the named undefined symbols of a table, with their numbers.

        Most symbols are defined or unnamed. Their first word shows it, so they are not parsed.
        """
        content, number = self.content(table), 0
        for words in self.words(SYMBOL.size, content, table.name):
            firsts = words[:: SYMBOL.size // WORD.size]
            for at in [n for n, word in enumerate(firsts) if word < DEFINED and word & NAME]:
                row = content.unpack(SYMBOL, (number + at) * SYMBOL.size, table.name)
                yield number + at, Symbol._make(row)
            number += len(firsts)

    def dynamic(self) -> dict[int, list[int]]:
        """Return the values of the dynamic section by tag, in order."""
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

    def offset(self, address: int, size: int = 0) -> int | None:
        """Return the file offset of `size` bytes at `address`; None if they are not in the file."""
        load = self._load(address)
        if load is None:
            return None
        inside = address - load.address
        return load.offset + inside if inside + size <= load.file_size else None

    def held(self, address: int) -> int:
        """Return how many bytes the file holds from `address` to the end of its segment."""
        load = self._load(address)
        return max(0, load.address + load.file_size - address) if load else 0

    def offset_of(self, symbol: Symbol) -> int | None:
        """Return the file offset of a symbol's bytes; None if its section does not hold them."""
        if not 0 < symbol.section < len(self.sections):
            return None
        section = self.sections[symbol.section]
        inside = symbol.value - (0 if self.is_object else section.address)
        is_held = section.has_bytes and 0 <= inside <= section.size - symbol.size
        return section.offset + inside if is_held else None

    def _load(self, address: int) -> Segment | None:
        """Return the loaded segment that contains `address`, or None."""
        starts, loads = self._loads
        found = bisect_right(starts, address) - 1
        return loads[found] if found >= 0 else None

    @cached_property
    def _loads(self) -> tuple[list[int], list[Segment]]:
        loads = [s for s in self.segments if s.type == PT_LOAD]
        loads.sort(key=lambda segment: (segment.address, segment))
        return [segment.address for segment in loads], loads

    def end(self) -> int:
        """Return where the file ends by its own headers; a truncated file is shorter."""
        ends = [s.offset + s.size for s in self.sections if s.type not in NO_BYTES]
        return max([s.offset + s.file_size for s in self.segments] + ends, default=HEADER.size)


def probe(data: Reader) -> bool:
    """Return whether `data` begins like an ELF file."""
    return data.starts_with(MAGIC)


def _widened(symbol: Symbol, wide: tuple[int, ...]) -> Symbol:
    """Return the symbol with its section number from SHT_SYMTAB_SHNDX, if it is an extended one."""
    if symbol.section != SHN_INDICES.SHN_XINDEX:
        return symbol
    return symbol._replace(section=wide[0])


def has_debug_information(elf: Elf) -> bool:
    """Return whether the file has .debug_info, plain or compressed."""
    return not DEBUG_INFO.isdisjoint(map(attrgetter("name"), elf.sections))


def is_foreign(elf: Elf) -> bool:
    """Return whether the file is for a GPU, and so a device image of any layout."""
    return elf.machine in GPUS


def is_debug_only(elf: Elf) -> bool:
    """Return whether the file is output of `objcopy --only-keep-debug`: its code has no bytes."""
    code = [s for s in elf.sections if s.is_allocated and s.flags & SH_FLAGS.SHF_EXECINSTR]
    is_linked = not elf.is_object and bool(code)
    return is_linked and all(section.type == SHT_NOBITS for section in code)


def read(data: Reader) -> Elf:
    """Read the headers of the ELF file in `data`.

    Raises FormatError with the place if the file is malformed, 32-bit or big-endian.
    """
    header = _header(data)
    sections = _sections(data, header) if header.sections_at else []
    segments = _segments(data, header)
    if sum(map(attrgetter("size"), sections)) > 2 * len(data):  # may count sections without bytes
        spans = [(s.offset, s.size) for s in sections if s.type not in NO_BYTES]
        _expect_apart(data, spans, "sections")
    loads = [(s.offset, s.file_size) for s in segments if s.type == PT_LOAD]
    _expect_apart(data, loads, "segments")
    return Elf(data, header, sections, segments)


def first(data: Reader) -> Elf:
    """Read the ELF header alone, and check that the header tables lie in `data`."""
    header = _header(data)
    if header.sections_at:
        size = header.sections * header.section_size
        data.slice(header.sections_at, size, "ELF section headers")
    size = header.segments * header.segment_size
    data.slice(header.segments_at, size, "ELF program headers")
    return Elf(data, header, [], [])


def section_names(data: Reader) -> bytes:
    """Return the string table of section names, reading only the headers that locate it."""
    header = _header(data)
    if not header.sections_at:
        return b""
    _expect(header.section_size, SECTION_HEADER, "section headers")
    first = data.unpack(SECTION_HEADER, header.sections_at, "ELF section header 0")
    at = header.sections_at + _names_at(header, first[6]) * SECTION_HEADER.size
    place, size = data.unpack(SECTION_HEADER, at, "ELF section header of names")[4:6]
    return data.slice(place, size, "ELF section names").bytes()


def _header(data: Reader) -> _Header:
    ident = data.bytes(0, min(16, len(data)), "ELF identification")
    if len(ident) < 16 or ident[4] != CLASS64 or ident[5] != LITTLE_ENDIAN:
        raise FormatError(f"ELF file at {data.at:#x} is not 64-bit little-endian")
    return _Header(*data.unpack(HEADER, 0, "ELF header"))


def _sections(data: Reader, header: _Header) -> list[Section]:
    _expect(header.section_size, SECTION_HEADER, "section headers")
    first = data.unpack(SECTION_HEADER, header.sections_at, "ELF section header 0")
    count = header.sections or first[5]  # beyond 0xff00 sections, kept in section 0 (gABI)
    if count > MAX_SECTIONS:
        raise FormatError(f"ELF header at {data.at:#x} claims {count} sections")
    table = data.slice(header.sections_at, count * SECTION_HEADER.size, "ELF section headers")
    rows = list(SECTION_HEADER.iter_unpack(table.bytes()))
    table_of_names = _names_at(header, first[6])
    if not 0 < table_of_names < count:
        raise FormatError(f"ELF section names are in section {table_of_names} of {count}")
    place, size = rows[table_of_names][4:6]
    names = Strings(data.slice(place, size, "ELF section names"), "ELF section names")
    names_at, types, *others = zip(*rows, strict=True)
    if header.machine == EM_CUDA:
        types = tuple(SHT_NOBITS if kind in CUDA_NOBITS else kind for kind in types)
    called = names.each(names_at)
    return list(map(_section, zip(range(count), called, types, *others, names_at, strict=True)))


def _names_at(header: _Header, link: int) -> int:
    """Return the section number of the section names; `link` is that of section 0 (gABI)."""
    return link if header.names == SHN_INDICES.SHN_XINDEX else header.names


def _segments(data: Reader, header: _Header) -> list[Segment]:
    if header.segments > MAX_SEGMENTS:
        raise FormatError(f"ELF header at {data.at:#x} claims {header.segments} program headers")
    if header.segments:
        _expect(header.segment_size, PROGRAM_HEADER, "program headers")
    size = header.segments * PROGRAM_HEADER.size
    table = data.slice(header.segments_at, size, "ELF program headers")
    return list(map(Segment._make, PROGRAM_HEADER.iter_unpack(table.bytes())))


def _expect_apart(data: Reader, spans: list[tuple[int, int]], what: str) -> None:
    """Check that the spans do not overlap much: hostile files repeat bytes to waste time.

    Segments may share a page. Spans beyond the end are reported when they are read.
    """
    total = sum(size for offset, size in spans if offset + size <= len(data))
    if total > 2 * len(data):
        raise FormatError(f"ELF {what} overlap: {total} bytes in {len(data)} of the file")


def _expect(size: int, layout: Struct, what: str) -> None:
    if size != layout.size:
        raise FormatError(f"ELF {what} have {size} bytes each, not {layout.size}")
