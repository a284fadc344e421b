"""`.tgtimg`: where the images of Intel's compilers are, for their clang-offload-extract.

A pair of words for each image of a linked file, its address and its size; linkers may add zeros.
The images themselves lie in other sections.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.elf.address_space import Space
from packager.elf.relocated import Range
from packager.formats.containers.payload import Damage
from packager.formats.host_records.descriptors import ImageRange

NAME = "tgtimg"
PAIR = Struct("<QQ")
MAX_PAIRS = 4096


def ranges(space: Space) -> Iterator[ImageRange | Damage]:
    """Where the images are, or what is wrong with a pair."""
    for section in space.elf.named(f".{NAME}"):
        if not section.has_bytes or not section.is_allocated:
            continue
        what = f"section {section.name}"
        if section.size % PAIR.size or section.size > MAX_PAIRS * PAIR.size:
            yield Damage(f"{what} of {section.size} bytes holds no pairs of addresses and sizes")
            continue
        (window,) = space.windows([Range(space.address(section), section.size, what)])
        for at in range(0, section.size, PAIR.size):
            start, size = window.pointer(at), window.word(at + PAIR.size // 2)
            if not start and not size:
                continue
            if start is None or space.offset(start, size) is None:
                where = "an undefined symbol" if start is None else f"{start:#x}"
                message = f"{what}: image {at // PAIR.size} of {size} bytes at {where}"
                yield Damage(f"{message} is not in the file")
                continue
            yield ImageRange(start, start + size)
