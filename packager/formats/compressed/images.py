# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inflate device images on demand, and keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from packager.files.context import Context
from packager.files.reader import Reader
from packager.files.sources import Kept, Room
from packager.formats.compressed import helper, lz4_block
from packager.formats.compressed.ahead import HEAD, Ahead, Answer, Job
from packager.formats.compressed.inflate import HELD, IN_MEMORY, expect_size, pieces
from packager.look import Look

BEGINNING = 1 << 12  # bytes of an LZ4 block, which nearly always inflate to HEAD
METHODS = ("lz4", "zstd")  # methods that are inflated ahead


class Begun:
    """An image that is inflated as far as it is read."""

    def __init__(self, data: Reader, method: str, size: int, what: str, *, is_text: bool) -> None:
        """Begin. Raises FormatError when it claims to inflate to more than the limit."""
        self._where = f"{what} at {data.at:#x}"
        expect_size(data, method, size, self._where)
        self._data, self._method, self._size = data, method, size
        self._look = data.context.look
        self._is_small = data.context.inflated <= IN_MEMORY
        self._job: Job | None = None
        self._depth = helper.depth(data.context.look) if data.context.look.is_inside else None
        if method in METHODS and helper.built() and _is_enough(data.context.look, is_text):
            self._job = _ahead(data.context).begin(data, method, size, self._depth)

    def finished(self) -> Reader:
        """Return the image. Raises FormatError when it inflates to any other number of bytes."""
        data, size = self._data, self._size
        is_whole = self._look.is_whole
        answer = _ahead(data.context).finished(self._job) if self._job else None
        if answer is None and is_whole and self._is_small:
            return Reader(b"".join(self._pieces()), context=data.context, whole=data.whole)
        image = _Image(data.context.room, self._pieces, size)
        if answer:
            image.answered(answer, self._depth)
        elif not is_whole:
            image.begin_only(self._beginning())
        elif size <= HELD:
            image.hold()
        else:
            data.context.room.place(image)
        return Reader(image, 0, size, data.context, data.whole)

    def _pieces(self) -> Iterator[bytes]:
        is_whole = self._look.is_whole
        return pieces(self._data, self._method, self._size, self._where, by_frame=is_whole)

    def _beginning(self) -> bytes | None:
        if self._method != "lz4":
            return None
        block = self._data.bytes(0, min(BEGINNING, len(self._data)))
        return lz4_block.beginning(block, min(HEAD, self._size))


def _is_enough(look: Look, is_text: bool) -> bool:
    """Return whether readers need only the ends of an image and the helper's records.

    Bytes behind a text may be padding.
    """
    if look.hashed:
        return False
    return not look.symbols if is_text else look.is_inside


def _ahead(context: Context) -> Ahead:
    if not isinstance(context.ahead, Ahead):
        context.ahead = Ahead()
    return context.ahead


class _Image(Kept):
    """An image of which the ends are there, or which is held in memory until another one is.

    Images are looked into one after the other.
    """

    def __init__(self, room: Room, make: Callable[[], Iterable[bytes]], size: int) -> None:
        super().__init__(room, make, size)
        self._head = self._tail = b""
        self._held: bytes | None = None
        self._was_read_past = False  # a read went past the ends

    def begin_only(self, head: bytes | None) -> None:
        """Keep the beginning for all time."""
        self._head = head or self._passed(0, min(HEAD, self.size))

    def answered(self, answer: Answer, depth: int | None) -> None:
        """Keep the ends permanently, and the helper's records."""
        self._head, self._tail, code = answer
        self.facts = None if code is None or depth is None else (depth, code)

    def hold(self) -> None:
        """Inflate it into memory."""
        self._held = b"".join(self.make())
        self._room.hold(self._drop)

    def _drop(self) -> None:
        self._held = None

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`."""
        if self._held is not None:
            return self._held[offset : offset + size]
        if not self.is_there:
            if offset + size <= len(self._head):
                return self._head[offset : offset + size]
            inside = offset - self.size + len(self._tail)
            if self._tail and inside >= 0:
                return self._tail[inside : inside + size]
            if self._head and not self._was_read_past:
                self._was_read_past = True
                return self._passed(offset, size)
        return super().read(offset, size)

    def _passed(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`; inflate and forget the others.

        This serves the last bytes of a text, which have one reader. For a second reader the whole
        text is kept.
        """
        found, at = b"", 0
        for piece in self.make():
            found += piece[max(0, offset - at) : max(0, offset + size - at)]
            at += len(piece)
            if at >= offset + size:
                break
        return found
