# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wrapper of any ABI: image sections, entry table, descriptor, registration.

Names and layout are DECISIONS 9, 13 and 14; the C structs are libomptarget-interface.tex's,
offload-infrastructure-proposal.txt's, and LLVM's by generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from struct import Struct

from packager.elf.headers import SHT_PROGBITS, STT_OBJECT
from packager.files.reader import Reader
from packager.formats.containers import offload_binary
from packager.host_machines.machine import HostMachine
from packager.layouts import (
    BIN_DESC,
    DEVICE_IMAGE,
    IMAGE_SECTION_PREFIX,
    EntryLayout,
    WrittenAbi,
)
from packager.records import NamedTuple
from packager.writers.elf_types import (
    NO_RELOCATION,
    SHF_ALLOC,
    SHF_GNU_RETAIN,
    SHF_WRITE,
    SHT_NOTE,
    STB_GLOBAL,
    STV_DEFAULT,
    STV_HIDDEN,
    Content,
    FilePart,
    Relocation,
    Section,
    Symbol,
)
from packager.writers.registration import DESCRIPTOR, Function, functions, registration

IMAGES = ".omptool.images"
ENTRY_NAMES = ".omptool.entry_names"
DATA_SECTION = ".data.rel.ro.omptool"

LINK_FLAG = 0x1  # flag of an entry: a pointer to a `declare target link` variable
LINK_POINTER = "_decl_tgt_ref_ptr"  # suffix of the pointer's name
WORD = 8  # bytes of an address
OPENMP = 1  # model of an entry of 56 bytes
FLAGS, SHORT = Struct("<I"), Struct("<H")


class ImageInput(NamedTuple):
    """A device image to be wrapped: the file is streamed, its size fixed when it was opened."""

    path: Path
    triple: str
    arch: str
    kind: str  # OffloadBinary's kind, by name
    data: Reader
    strings: tuple[tuple[str, str], ...] = ()  # other strings of the OffloadBinary

    @property
    def size(self) -> int:
        """Return the size of the image in bytes."""
        return len(self.data)

    @property
    def section(self) -> str:
        """Return the name of the section for the image."""
        return IMAGE_SECTION_PREFIX + self.triple + (f".{self.arch}" if self.arch else "")


class EntryInput(NamedTuple):
    """An entry to be written: the host symbol of that name, and its size (0 for a kernel)."""

    name: str
    size: int
    symbol: str | None = None  # host symbol, if its name differs

    @property
    def host_symbol(self) -> str:
        """Return the host symbol whose address the entry has."""
        return self.symbol or self.name

    @property
    def flags(self) -> int:
        """Return the flags in LLVM's records."""
        return LINK_FLAG if self.name.endswith(LINK_POINTER) else 0


class Wrapper(NamedTuple):
    """The sections, symbols and code of a wrapper, for a host object or an object of its own."""

    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    functions: tuple[Function, ...] = ()  # functions in its code


def build(
    images: Sequence[ImageInput],
    entries: Sequence[EntryInput] | None,
    abi: WrittenAbi,
    machine: HostMachine,
    *,
    alone: bool,
    says_requires: bool = False,
    kept: Sequence[str] = (),
    used: Sequence[str] = (),
) -> Wrapper:
    """Build the sections and symbols of a wrapper for a host machine.

    `entries` go into the wrapper, even if empty: an empty table makes the linker define its bounds.
    None leaves the table to the host object. `alone` adds notes that a host object would bring, and
    `says_requires` the call that clang's objects make for LLVM's runtime up to 18. `kept` are
    symbols of sections that linkers would collect, and `used` are symbols of libraries that
    --as-needed would omit.
    """
    sections = [_image_section(image, abi, machine) for image in images]
    symbols = [_image_symbol(image, n, abi) for n, image in enumerate(images)]
    parts = [
        _descriptor(images, abi, kept, used),
        *registration(abi, machine, says_requires=says_requires),
    ]
    if entries is not None:
        parts += [_names(entries)] if abi.entry.name is not None else []
        parts.append(_table(entries, abi))
    for section, added in parts:
        symbols += [_placed(symbol, len(sections)) for symbol in added]
        sections.append(section)
    sections += _notes(machine) if alone else []
    called = {r.symbol: None for section in sections for r in section.relocations}
    defined = {symbol.name for symbol in symbols}
    hidden = bounds(abi)
    undefined = [
        Symbol(name, binding=STB_GLOBAL, visibility=STV_HIDDEN if name in hidden else STV_DEFAULT)
        for name in called
        if name not in defined
    ]
    code = functions(abi, says_requires=says_requires)
    return Wrapper(tuple(sections), tuple(symbols + undefined), tuple(code))


def bounds(abi: WrittenAbi) -> tuple[str, str]:
    """Return the symbols that the linker defines at the bounds of the entry table."""
    return f"__start_{abi.entries_section}", f"__stop_{abi.entries_section}"


def _placed(symbol: Symbol, section: int) -> Symbol:
    return Symbol(symbol.name, section, symbol.value, symbol.size, symbol.type)


def offload_header(image: ImageInput, version: int) -> tuple[bytes, int]:
    """Return the OffloadBinary header of an image, and the number of zero bytes after the image."""
    strings = {"triple": image.triple, "arch": image.arch, **dict(image.strings)}
    kind = offload_binary.image_kind(image.kind)
    return offload_binary.header([offload_binary.Item(kind, strings, image.size)], version)


def image_content(image: ImageInput, abi: WrittenAbi) -> tuple[int, Content]:
    """Return the size and content of an image's section."""
    head, padding = offload_header(image, abi.container_version)
    content: Content = (head, FilePart(image.path, image.data), bytes(padding))
    return len(head) + image.size + padding, content


def image_range(image: ImageInput, abi: WrittenAbi) -> tuple[int, int]:
    """Return the range that the runtime receives: the image, or the OffloadBinary around it."""
    head, padding = offload_header(image, abi.container_version)
    end = len(head) + image.size
    return (0, end + padding) if abi.is_wrapped else (len(head), end)


def _image_symbol(image: ImageInput, number: int, abi: WrittenAbi) -> Symbol:
    begin, end = image_range(image, abi)
    return Symbol(f".omptool.image.{number}", number, begin, end - begin, STT_OBJECT)


def _image_section(image: ImageInput, abi: WrittenAbi, machine: HostMachine) -> Section:
    """Return an image's section, with flags that keep it from between code and data."""
    _, content = image_content(image, abi)
    flags = SHF_ALLOC | machine.image_flags
    return Section(image.section, SHT_PROGBITS, flags, offload_binary.ALIGNMENT, content)


def _descriptor(
    images: Sequence[ImageInput], abi: WrittenAbi, kept: Sequence[str], used: Sequence[str]
) -> tuple[Section, list[Symbol]]:
    """Return the image records, followed by the __tgt_bin_desc."""
    begin, end = bounds(abi)
    relocations = []
    for number, image in enumerate(images):
        symbol, at = _image_symbol(image, number, abi), number * abi.image.size
        relocations += [
            Relocation(at, symbol.name),
            Relocation(at + 8, symbol.name, addend=symbol.size),
        ]
        if abi.image is DEVICE_IMAGE:
            relocations += [Relocation(at + 16, begin), Relocation(at + 24, end)]
    array_size = len(images) * abi.image.size
    relocations += [
        Relocation(array_size + 8, IMAGES),
        Relocation(array_size + 16, begin),
        Relocation(array_size + 24, end),
    ]
    relocations += [Relocation(array_size, name, NO_RELOCATION) for name in kept]
    # Linkers that collect sections follow stored pointers only.
    end_at = array_size + BIN_DESC.size
    relocations += [Relocation(end_at + n * WORD, name) for n, name in enumerate(used)]
    data = bytes(array_size) + BIN_DESC.pack(len(images), 0, 0, 0, 0) + bytes(WORD * len(used))
    flags = SHF_ALLOC | SHF_WRITE
    section = Section(DATA_SECTION, SHT_PROGBITS, flags, 8, (data,), tuple(relocations))
    return section, [
        Symbol(IMAGES, None, 0, array_size, STT_OBJECT),
        Symbol(DESCRIPTOR, None, array_size, BIN_DESC.size, STT_OBJECT),
    ]


def _names(entries: Sequence[EntryInput]) -> tuple[Section, list[Symbol]]:
    text = b"".join(_encoded(entry.name) for entry in entries)
    section = Section(".rodata.omptool", SHT_PROGBITS, SHF_ALLOC, 1, (text,))
    return section, [Symbol(ENTRY_NAMES, None, 0, len(text), STT_OBJECT)]


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape") + b"\0"


def _table(entries: Sequence[EntryInput], abi: WrittenAbi) -> tuple[Section, list[Symbol]]:
    layout = abi.entry
    relocations = []
    name_at = 0
    for number, entry in enumerate(entries):
        at = number * layout.record
        relocations.append(Relocation(at + layout.address, entry.host_symbol))
        if layout.name is not None:
            relocations.append(Relocation(at + layout.name, ENTRY_NAMES, addend=name_at))
        name_at += len(_encoded(entry.name))
    flags = SHF_ALLOC | SHF_WRITE | SHF_GNU_RETAIN
    content = (table_bytes(entries, layout),)
    return Section(abi.entries_section, SHT_PROGBITS, flags, 8, content, tuple(relocations)), []


def table_bytes(entries: Sequence[EntryInput], layout: EntryLayout) -> bytes:
    """Return the records of a table without their pointers."""
    data = bytearray(len(entries) * layout.record)
    for number, entry in enumerate(entries):
        at = number * layout.record
        Struct(f"<{layout.size_format}").pack_into(data, at + layout.size, entry.size)
        if layout.flags is not None:
            FLAGS.pack_into(data, at + layout.flags, entry.flags)
        if layout.version is not None and layout.model is not None:
            SHORT.pack_into(data, at + layout.version, 1)
            SHORT.pack_into(data, at + layout.model, OPENMP)
    return bytes(data)


def _notes(machine: HostMachine) -> list[Section]:
    return [
        Section(".note.GNU-stack", SHT_PROGBITS, 0, 1),
        Section(".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8, (machine.note,)),
    ]
