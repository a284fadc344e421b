# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the arguments of `__cudaRegisterFatBinary` and `__hipRegisterFatBinary`.

They are in `.nvFatBinSegment` and `.hipFatBinSegment`: u32 magic, u32 version, pointer to the fat
binary, and a word that is not read. Each compilation unit has one; clang writes both, NVIDIA's
tools CUDA's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct

from packager.elf.address_space import Space
from packager.elf.headers import Section
from packager.elf.relocated import Range
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers.payload import Damage, Unknown
from packager.model import Model
from packager.records import NamedTuple

SECTIONS: dict[str, Model] = {".nvFatBinSegment": "cuda", ".hipFatBinSegment": "hip"}
BEGINS = tuple(SECTIONS)
MAGICS: dict[int, Model] = {0x466243B1: "cuda", 0x48495046: "hip", 0x4B504948: "hip"}
SIZE, BINARY = 24, 8
WRAPPER, WORD = Struct("<IIQ8x"), 8
SHORT = 8  # characters of a name in a linked file of Windows
MAX_WRAPPERS = 1 << 18


class FoundWrapper(NamedTuple):
    """A wrapper, in addresses of its Space."""

    address: int
    model: Model
    binary: int | None  # address of the fat binary; None: a symbol of another file


def find(space: Space) -> Iterator[FoundWrapper | Damage | Unknown]:
    """Yield the wrappers of a file, or the damage in place of one.

    A wrapper with an unknown magic counts as registered like the others of its section, if its
    pointer is valid.
    """
    for section in space.elf.sections:
        model = model_of(section)
        if model and section.has_bytes and section.is_allocated and section.size:
            yield from _wrappers(space, section, model)


def of_coff(sections: Sequence[Section], file: Reader) -> Iterator[int]:
    """Yield the offsets of fat binaries, from the wrappers in a linked file of Windows.

    Linkers keep eight characters of a section's name, and may add zeros between wrappers. Raises
    FormatError for too many wrappers: sections may overlap.
    """
    mine = [section for section in sections if _may_have_wrappers(section)]
    size = sum(section.size for section in mine)
    if size > MAX_WRAPPERS * SIZE:
        limit = f"the limit is {MAX_WRAPPERS * SIZE}"
        raise FormatError(f"sections of wrappers have {size} bytes, and {limit}")
    for section in mine:
        data = file.slice(section.offset, section.size, f"section {section.name}")
        for at in range(0, len(data) - SIZE + 1, WORD):
            magic, _, binary = data.unpack(WRAPPER, at, "wrapper")
            if magic in MAGICS:
                yield binary


def _may_have_wrappers(section: Section) -> bool:
    """Return whether wrappers may be in a section of a linked file of Windows."""
    is_long = len(section.name) >= SHORT
    return is_long and any(name.startswith(section.name) for name in SECTIONS)


def model_of(section: Section) -> Model | None:
    """Return the model of the wrappers in a section; relocatable links append to its name."""
    if not section.name.startswith(BEGINS):
        return None
    return next(model for name, model in SECTIONS.items() if section.name.startswith(name))


def _wrappers(
    space: Space, section: Section, model: Model
) -> Iterator[FoundWrapper | Damage | Unknown]:
    what = f"section {section.name}"
    if section.size % SIZE or section.size > MAX_WRAPPERS * SIZE:
        yield Damage(f"{what} of {section.size} bytes holds no wrappers of {SIZE} bytes each")
        return
    start = space.address(section)
    (window,) = space.windows([Range(start, section.size, what)])
    for at in range(0, section.size, SIZE):
        magic, binary = window.half(at), window.pointer(at + BINARY)
        wrapper = f"{what}: wrapper {at // SIZE}"
        if not magic or (magic not in MAGICS and not _leads(space, binary)):
            yield Damage(f"{wrapper} has no magic")
            continue
        if magic not in MAGICS:
            yield Unknown(f"{wrapper} has the unknown magic {magic:#x}")
        yield FoundWrapper(start + at, MAGICS.get(magic, model), binary)


def _leads(space: Space, binary: int | None) -> bool:
    """Return whether a wrapper's pointer is to bytes of the file, or to another file's symbol."""
    return binary is None or space.offset(binary, 1) is not None
