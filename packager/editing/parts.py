# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sections that an edit adds to a file, in segments of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from packager.elf.headers import SHT_PROGBITS, Section
from packager.files.copying import BLOCK
from packager.writers.elf_types import FilePart


class Kept(NamedTuple):
    """Bytes of the file that is edited, with what was changed in them."""

    offset: int
    size: int


Piece = bytes | FilePart | Kept
PAGE = 0x1000


class Part:
    """Bytes that get a place in a new segment: a new section, or some that were elsewhere.

    `content` is called when every part has its address.
    """

    def __init__(
        self,
        name: str,
        size: int,
        alignment: int,
        content: Callable[[], list[Piece]],
        type: int = SHT_PROGBITS,
        flags: int = 0,
        entry_size: int = 0,
        link: int = 0,
        info: int | None = None,  # None: as the section has it whose header this takes over
        is_block: bool = False,  # sections that keep their headers, so it gets none of its own
    ) -> None:
        self.name, self.type, self.flags = name, type, flags
        self.size, self.alignment, self.content = size, alignment, content
        self.entry_size, self.link, self.info = entry_size, link, info
        self.is_block = is_block
        self.lead: int | None = None  # how many of its bytes are in front of those at a block
        self.takes: Section | None = None  # the section whose header it takes over
        self.address = 0
        self.offset = 0


class Group:
    """A segment to be: its parts in their order."""

    def __init__(self, flags: int, parts: list[Part]) -> None:
        self.flags = flags  # PF_R and so on
        self.parts = parts

    @property
    def address(self) -> int:
        """Return where it begins."""
        return self.parts[0].address

    @property
    def offset(self) -> int:
        """Return where it begins in the file."""
        return self.parts[0].offset

    @property
    def size(self) -> int:
        """Its bytes."""
        last = self.parts[-1]
        return last.address + last.size - self.address

    def place(self, address: int, offset: int) -> None:
        """Give its parts their places, from a page's beginning on."""
        at = 0
        for part in self.parts:
            at = aligned(at, part.alignment)
            if part.lead is not None:
                at = aligned(offset + at + part.lead, BLOCK) - part.lead - offset
            part.address, part.offset = address + at, offset + at
            at += part.size


def aligned(value: int, alignment: int) -> int:
    """The next multiple of `alignment`."""
    return -(-value // alignment) * alignment if alignment > 1 else value


class Moves:
    """The places of parts of the memory that were somewhere else before."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, Part, int]] = []

    def add(self, start: int, end: int, part: Part, inside: int = 0) -> None:
        """Note that `start` to `end` is in `part` now, `inside` bytes from its beginning."""
        self._rows.append((start, end, part, inside))

    def address(self, address: int, size: int = 0) -> int | None:
        """Return where `size` bytes at `address` are now; None if they have not moved."""
        for start, end, part, inside in self._rows:
            if start <= address < end and address + size <= end:
                return part.address + inside + address - start
        return None

    def offset(self, address: int) -> int | None:
        """Return where in the file those at `address` are now; None if they have not moved."""
        for start, end, part, inside in self._rows:
            if start <= address < end:
                return part.offset + inside + address - start
        return None

    def size(self, address: int) -> int:
        """Return the number of bytes that moved from `address` on."""
        return next((end - start for start, end, _, _ in self._rows if start == address), 0)

    def __iter__(self) -> Iterator[tuple[int, int, Part, int]]:
        return iter(self._rows)

    def __bool__(self) -> bool:
        return bool(self._rows)
