# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of a few fields where a file has structure: in headers, in tables, behind magics.

Bytes that are changed anywhere are mostly code, text or zeros, and those that are not are mostly
the upper halves of small numbers. What readers go by are fields, and damaged files have wrong ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from struct import Struct, calcsize
from typing import NamedTuple

from packager.elf import headers
from packager.elf.headers import Elf, Section
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import archive, cuda_fatbin, offload_binary
from packager.formats.containers.bundles import clang_bundle, compressed_bundle

# Magics of formats, where readers start.
MAGICS = (
    headers.MAGIC,
    offload_binary.MAGIC,
    clang_bundle.MAGIC,
    compressed_bundle.MAGIC,
    archive.MAGIC,
    archive.THIN_MAGIC,
    cuda_fatbin.MAGIC,
    b"\x28\xb5\x2f\xfd",  # zstd
    b"BC\xc0\xde",
    b"\x03\x02\x23\x07",  # SPIR-V
    b".version",  # PTX
)
_MAGIC = re.compile(b"|".join(map(re.escape, MAGICS)))
BEHIND = 64  # bytes of a header that follow a magic
# Sections of words, besides symbols and relocations.
WORDS = re.compile(
    r"\.(init_array|dynamic|data\.rel\.ro|gnu\.offload|tgtimg|omptool|nvFatBin|hipFatBin)"
    r"|\w*(offload|target)\w*entries"
)
LAYOUTS = {
    headers.SHT_SYMTAB: headers.SYMBOL,
    headers.SHT_DYNSYM: headers.SYMBOL,
    headers.SHT_RELA: headers.RELA,
}
MAX_CHANGES = 4


class Field(NamedTuple):
    """A number in a file."""

    at: int
    size: int


def fields(data: bytes) -> list[Field]:
    """Return the fields that control readers, as far as they are found."""
    found = [Field(at, 4) for at in range(0, min(len(data), BEHIND), 4)]
    for match in _MAGIC.finditer(data):
        found += (Field(at, 4) for at in range(match.start(), match.end() + BEHIND, 4))
    found += _of_elf(data)
    return [field for field in found if field.at + field.size <= len(data)]


def _of_elf(data: bytes) -> Iterator[Field]:
    """Yield the fields of headers and tables in an ELF file."""
    try:
        file = headers.read(Reader(data))
    except FormatError:
        return
    (_, _, _, _, _, segments_at, sections_at, *_) = headers.HEADER.unpack_from(data)
    yield from _rows(headers.HEADER, 0, 1)
    yield from _rows(headers.PROGRAM_HEADER, segments_at, len(file.segments))
    yield from _rows(headers.SECTION_HEADER, sections_at, len(file.sections))
    for section in file.sections:
        yield from _of_section(file, section)


def _of_section(file: Elf, section: Section) -> Iterator[Field]:
    layout = LAYOUTS.get(section.type, headers.WORD if WORDS.match(section.name) else None)
    if section.has_bytes and layout:
        size = min(section.size, len(file.data) - section.offset)
        yield from _rows(layout, section.offset, size // layout.size)


def _rows(layout: Struct, start: int, count: int) -> Iterator[Field]:
    """Yield the fields of `count` records of a layout without padding."""
    for row in range(count):
        at = start + row * layout.size
        for size in map(calcsize, re.findall(r"\d*[a-zA-Z]", layout.format)):
            yield Field(at, size)
            at += size


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return a copy with one to four fields changed."""
    result = bytearray(data)
    known = fields(data)
    for _ in range(chance.randint(1, MAX_CHANGES) if known else 0):
        at, size = chance.choice(known)
        value = int.from_bytes(result[at : at + size], "little")
        another = chance.choice(known)
        changed = chance.choice((
            0, 1, value + 1, value - 1, -1, 1 << (8 * size - 1), len(data),
            value ^ 1 << chance.randrange(8 * size), value << 8, chance.randrange(256),
            int.from_bytes(data[another.at : another.at + another.size], "little"),
        ))  # fmt: skip
        result[at : at + size] = (changed % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(result)
