# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sections that an edit adds to a file, in segments of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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


class Address(NamedTuple):
    """An address of the result: so far into a part or, without a part, where the file has it."""

    part: Part | None
    offset: int

    @property
    def value(self) -> int:
        """The number, once parts have their places."""
        return self.offset + (self.part.address if self.part else 0)


class Fixup(NamedTuple):
    """A field of the new bytes of a part: an address, or the distance to it."""

    at: int  # in the part
    target: Address
    is_distance: bool = False  # from the end of the field, which has 4 bytes


class Binding(NamedTuple):
    """A word of a part that the loader fills in by a symbol, as a relocation says."""

    at: int
    info: int
    addend: int = 0


@dataclass(eq=False)
class Part:
    """Bytes that get a place in a new segment: a new section, or some that were elsewhere."""

    name: str
    content: tuple[Piece, ...]
    alignment: int = 8
    type: int = SHT_PROGBITS
    flags: int = 0
    entry_size: int = 0
    link: int = 0
    info: int | None = None  # None: as the section has it whose header this takes over
    fixups: tuple[Fixup, ...] = ()
    bindings: tuple[Binding, ...] = ()
    takes: Section | None = None  # the section whose header it takes over
    lead: int | None = None  # how many of its bytes are in front of those at a block
    is_block: bool = False  # sections that keep their headers, so it gets none of its own
    address: int = 0
    offset: int = 0

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(len(piece) if isinstance(piece, bytes) else piece.size for piece in self.content)

    def at(self, offset: int) -> Address:
        """Return the address of a byte of it."""
        return Address(self, offset)


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
