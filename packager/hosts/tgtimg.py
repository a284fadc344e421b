# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`.tgtimg`: where the images of Intel's compilers are, for their clang-offload-extract.

A pair of words for each image of a linked file, its address and its size; linkers may add zeros.
The images themselves lie in other sections, `__CLANG_OFFLOAD_BUNDLE__<id>`, end to end. The size of
a compressed image is the one that it inflates to.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.elf.address_space import Space
from packager.elf.headers import Section
from packager.elf.relocated import Range
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import zstd_frame
from packager.formats.containers.payload import Damage
from packager.formats.host_records.descriptors import ImageRange

NAME = "tgtimg"
PAIR = Struct("<QQ")
MAX_PAIRS = 1 << 18


def ranges(space: Space) -> Iterator[ImageRange | Damage]:
    """Yield the ranges of images, or the fault of a pair."""
    for section in space.elf.named(f".{NAME}"):
        if section.has_bytes and section.is_allocated:
            yield from _ranges(space, section)


def _ranges(space: Space, section: Section) -> Iterator[ImageRange | Damage]:
    what = f"section {section.name}"
    if section.size % PAIR.size or section.size > MAX_PAIRS * PAIR.size:
        yield Damage(f"{what} of {section.size} bytes holds no pairs of addresses and sizes")
        return
    (window,) = space.windows([Range(space.address(section), section.size, what)])
    for at in range(0, section.size, PAIR.size):
        start, size = window.pointer(at), window.word(at + PAIR.size // 2)
        if not size:  # zeros by linkers, or an image that slim has removed
            continue
        where = "an undefined symbol" if start is None else f"{start:#x}"
        image = f"{what}: image {at // PAIR.size} of {size} bytes at {where}"
        try:
            stored = _stored(space, start or 0, size)
        except FormatError as error:
            yield Damage(f"{image}: {error}")
            continue
        if start is None or space.offset(start, stored) is None:
            yield Damage(f"{image} is not in the file")
            continue
        yield ImageRange(start, start + stored)


def pairs(table: Reader) -> list[tuple[int, int]]:
    """Return the addresses and sizes in a list without relocations, as COFF's is."""
    if len(table) % PAIR.size or len(table) > MAX_PAIRS * PAIR.size:
        raise FormatError(f"{len(table)} bytes hold no pairs of addresses and sizes")
    rows = PAIR.iter_unpack(table.bytes(what="list of images"))
    return [(start, size) for start, size in rows if size]


def _stored(space: Space, start: int, size: int) -> int:
    """Return how many bytes an image has in the file."""
    offset = space.offset(start, zstd_frame.MAGIC.size)
    if offset is None:
        return size
    return stored(space.elf.data.slice(offset, len(space.elf.data) - offset, "device image"), size)


def stored(rest: Reader, size: int) -> int:
    """Return the size in `rest` of an image for which a list records `size`."""
    if not zstd_frame.probe(rest):
        return size
    frame = zstd_frame.measure(rest)
    if frame.inflated != size:
        raise FormatError(f"it inflates to {frame.inflated} bytes")
    return frame.stored
