# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plan of an edit: the new parts of a file and its changes, as values.

New parts have no addresses until the layout, so values refer to a part by the part itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Literal

from packager.elf.headers import SHT_PROGBITS, Section
from packager.host_machines.machine import Instruction
from packager.records import NamedTuple
from packager.writers.elf_types import FilePart


class Kept(NamedTuple):
    """A range of the edited file, with patches applied."""

    offset: int
    size: int


class Later(NamedTuple):
    """Bytes that are known when all addresses are."""

    size: int


Piece = bytes | FilePart | Kept | Later
# New segments, in order. The next edit keeps "fixed" and "code", and replaces the others.
NewSegment = Literal["fixed", "code", "data", "rest"]


class Address(NamedTuple):
    """An address of the result: so far into a part or, without a part, where the file has it."""

    part: Part | None
    offset: int


class Fixup(NamedTuple):
    """New bytes of a part: an address, or an instruction that refers to it."""

    at: int  # offset in the part
    target: Address
    instruction: Instruction | None = None  # None: a pointer


class Binding(NamedTuple):
    """A word of a part that the dynamic loader fills in with a symbol's address."""

    at: int
    info: int
    addend: int = 0


class _Part(NamedTuple):
    segment: NewSegment
    name: str
    content: tuple[Piece, ...]
    alignment: int = 8
    type: int = SHT_PROGBITS
    flags: int = 0
    entry_size: int = 0
    link: int = 0
    info: int | None = None  # None: as in the header that the part replaces
    fixups: tuple[Fixup, ...] = ()
    bindings: tuple[Binding, ...] = ()
    takes: Section | None = None  # the section whose header it takes over
    lead: int | None = None  # how many of its bytes are in front of those at a block
    is_block: bool = False  # sections that keep their headers, so it gets none of its own


class Part(_Part):
    """Bytes that get a place in a new segment: a new section, or a moved one.

    Parts are compared by identity: two parts with equal bytes get two places.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def size(self) -> int:
        """Return the size of the content in bytes."""
        return sum(len(piece) if isinstance(piece, bytes) else piece.size for piece in self.content)

    def at(self, offset: int) -> Address:
        """Return the address of a byte of the part."""
        return Address(self, offset)


class Patch(NamedTuple):
    """Other bytes, or an address, at an offset of the file."""

    offset: int
    content: bytes | Address


class Pointer(NamedTuple):
    """A word of the file that the loader relocates: its address and its new target."""

    place: int
    target: Address


class Tag(NamedTuple):
    """A tag of the dynamic table, and its value: a number or an address."""

    tag: int
    value: int | Address


class Hole(NamedTuple):
    """A range of the file that has no bytes in the result."""

    offset: int
    size: int


class Renamed(NamedTuple):
    """A section, by its number, and its new name."""

    number: int
    name: str


class Plan(NamedTuple):
    """Changes of an edit, all or some of them."""

    parts: tuple[Part, ...] = ()
    patches: tuple[Patch, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    tags: tuple[Tag, ...] = ()
    needed: tuple[int, ...] = ()  # libraries, as offsets of the dynamic strings
    holes: tuple[Hole, ...] = ()
    renamed: tuple[Renamed, ...] = ()


def joined(plans: Iterable[Plan]) -> Plan:
    """Return the plan that combines others, in order."""
    return Plan(*(tuple(chain.from_iterable(field)) for field in zip(*plans, strict=True)))
