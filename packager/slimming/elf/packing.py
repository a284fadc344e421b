# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Place containers one behind the other at the beginning of their section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from packager.editing.layout.segments import aligned
from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.reader import PIECE, Reader
from packager.records import NamedTuple
from packager.slimming.elf.holes import Hole, Holes
from packager.slimming.elf.zeros import is_zero
from packager.slimming.pieces import Piece, Rewritten

MOST_ALIGNMENT = 1 << 16


class Placed(NamedTuple):
    """A container and the offset at which its new bytes begin."""

    container: Rewritten
    offset: int

    @property
    def size(self) -> int:
        """Return the new size of the container."""
        return size_of(self.container)


class Packed(NamedTuple):
    """A section whose containers move together; offsets are from before the cut."""

    section: Section
    placed: tuple[Placed, ...]

    @property
    def end(self) -> int:
        """Return where the last container ends."""
        last = self.placed[-1]
        return last.offset + last.size

    @property
    def memory_end(self) -> int:
        """Return the new end address of the section."""
        return self.section.address + self.end - self.section.offset

    @property
    def addresses(self) -> dict[int, int]:
        """Return the new address of each container, by its old one."""
        distance = self.section.address - self.section.offset
        return {one.container.offset + distance: one.offset + distance for one in self.placed}


def size_of(container: Rewritten) -> int:
    """Return the size of the bytes that replace a container."""
    return sum(piece.size for piece in container.pieces)


def expect_sound(containers: Iterable[Rewritten], data: Reader) -> list[Rewritten]:
    """Return the containers by offset. Raises FormatError for one that cannot be rewritten."""
    found = sorted(containers)
    for one in found:
        what = f"container at {one.offset:#x}"
        data.slice(one.offset, one.size, "container")
        if not 1 <= one.alignment <= MOST_ALIGNMENT or one.alignment & one.alignment - 1:
            raise FormatError(f"{what} has the alignment {one.alignment}")
        for piece in one.pieces:
            if piece.offset >= 0:
                data.slice(piece.offset, piece.size, "piece of a container")
            elif len(piece.data) != piece.size:
                raise FormatError(f"{what} has a piece of {piece.size} bytes without them")
        if size_of(one) > one.size:
            raise FormatError(f"{what} of {one.size} bytes would grow to {size_of(one)}")
    for one, following in pairwise(found):
        if one.offset + one.size > following.offset:
            raise FormatError(f"containers at {one.offset:#x} and {following.offset:#x} overlap")
    return found


def is_same(container: Rewritten, data: Reader) -> bool:
    """Return whether the file already has the new bytes of a container, and zeros behind them."""
    at = container.offset
    for piece in container.pieces:
        if not _is_at(piece, at, data):
            return False
        at += piece.size
    return is_zero(data, at, container.offset + container.size)


def _is_at(piece: Piece, at: int, data: Reader) -> bool:
    if piece.offset >= 0:
        return piece.offset == at or _are_equal(data, piece.offset, at, piece.size)
    return data.bytes(at, piece.size) == piece.data


def _are_equal(data: Reader, one: int, other: int, size: int) -> bool:
    """Return whether two ranges of a file have the same bytes."""
    for done in range(0, size, PIECE):
        left = min(PIECE, size - done)
        if data.bytes(one + done, left) != data.bytes(other + done, left):
            return False
    return True


def pack(section: Section, containers: Sequence[Rewritten], data: Reader) -> Packed:
    """Move the containers of a section together. Raises FormatError for bytes of no container."""
    ends = [one.offset + one.size for one in containers]
    starts = [*(one.offset for one in containers[1:]), section.offset + section.size]
    for end, start in zip(ends, starts, strict=True):
        if not is_zero(data, end, start):
            where = "behind the last container" if end == ends[-1] else "between containers"
            raise FormatError(f"bytes at {end:#x} {where} belong to none")
    return Packed(section, tuple(_placed(section, containers, containers[0].offset)))


def _placed(section: Section, containers: Sequence[Rewritten], at: int) -> Iterator[Placed]:
    distance = section.address - section.offset
    for one in containers:
        alignment = one.alignment
        while (one.offset + distance) % alignment:  # keep the old alignment
            alignment //= 2
        at = aligned(at + distance, alignment) - distance
        yield Placed(one, at)
        at += size_of(one)


def holes_between(containers: Sequence[Rewritten], size: int) -> Holes | None:
    """Return the free bytes of a file that is containers end to end; None for any other file.

    It has `size` bytes. A container keeps its alignment, and the last one ends the file.
    """
    found: list[Hole] = []
    at = 0
    last = max(len(containers) - 1, 0)
    unit = max((one.alignment for one in containers), default=1)
    for number, one in enumerate(containers):
        if one.offset != at:
            return None
        at += one.size
        unit = 1 if number == last else unit
        free = (one.size - size_of(one)) // unit * unit
        if free:
            found.append(Hole(at - free, at))
    return Holes(found) if at == size else None
