# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout of a result, in offsets of the file before the cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from packager.records import NamedTuple
from packager.slimming.elf.holes import Holes
from packager.slimming.pieces import Piece, Rewritten

Patch = tuple[int, bytes]  # offset in the result, and the bytes there


class Extent(NamedTuple):
    """A range with new contents: zeros, if there is no piece."""

    offset: int
    size: int
    piece: Piece | None = None

    @property
    def end(self) -> int:
        """Return the end of the range."""
        return self.offset + self.size


class Layout(NamedTuple):
    """A result: the file with new extents, without holes, and with patches on top."""

    extents: Iterable[Extent]  # ordered by offset; other bytes are the file's
    holes: Holes
    patches: Sequence[Patch]
    late: Iterable[Patch] = ()  # read from the file when they are written

    def parts(self, size: int) -> Iterator[Extent]:
        """Yield the contents of the result of a file of `size` bytes: pieces between zeros."""
        at = 0
        for extent in self.extents:
            yield from self._kept(at, extent.offset)
            if extent.piece is not None:  # zeros are there already
                yield extent
            at = extent.end
        yield from self._kept(at, size)

    def _kept(self, start: int, end: int) -> Iterator[Extent]:
        for begin, stop in self.holes.kept(start, end):
            yield Extent(begin, stop - begin, Piece(begin, stop - begin))


def filled(start: int, end: int, contents: Iterable[Extent]) -> Iterator[Extent]:
    """Yield a range with these contents, and zeros between them."""
    at = start
    for extent in contents:
        if at < extent.offset:
            yield Extent(at, extent.offset - at)
        yield extent
        at = extent.end
    if at < end:
        yield Extent(at, end - at)


def contents(container: Rewritten, offset: int) -> Iterator[Extent]:
    """Yield the new bytes of a container, from an offset on."""
    for piece in container.pieces:
        yield Extent(offset, piece.size, piece)
        offset += piece.size


class InPlace:
    """Containers where they are, made anew each time: files have up to 131,072."""

    def __init__(self, containers: Sequence[Rewritten]) -> None:
        self._containers = containers

    def __iter__(self) -> Iterator[Extent]:
        return in_place(self._containers)


def in_place(containers: Iterable[Rewritten]) -> Iterator[Extent]:
    """Yield containers where they are, with zeros behind their new bytes."""
    for one in containers:
        yield from filled(one.offset, one.offset + one.size, contents(one, one.offset))
