# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sources of views: bytes, files, and inflated bytes, which are kept while there is room."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Protocol

from packager.errors import NO_ROOM, FormatError
from packager.files.portable import pread, pwrite

SHORT = 128
BLOCK = 1 << 12
SMALL = 1 << 16  # largest file that is read as one block
# Most bytes of inflated data in the folder for temporary files, unless one part is larger:
# libraries inflate to some gigabytes.
ROOM = 1 << 28


class Source(Protocol):
    """Bytes that can be read at any place."""

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`; fewer at the end."""


class Bytes:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`; fewer at the end."""
        return self._data[offset : offset + size]


class File:
    """Reads by pread, so that a 2 GB executable costs only the bytes read."""

    def __init__(self, fd: int, start: int = 0, size: int = SMALL + 1) -> None:
        self.fd = fd
        self._start = start
        self._block_at, self._block = 0, b""
        self._is_small = size <= SMALL

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`."""
        if self._is_small:
            self._block = self._block or pread(self.fd, SMALL, 0)
            return self._block[offset : offset + size]
        if size > SHORT:
            return pread(self.fd, size, self._start + offset)
        # Small reads lie close together: names, and headers in a row.
        inside = offset - self._block_at
        if inside < 0 or inside + size > len(self._block):
            self._block, self._block_at = pread(self.fd, BLOCK, self._start + offset), offset
            inside = 0
        return self._block[inside : inside + size]


class Kept(File):
    """Inflated bytes in a Room; a read after they were evicted inflates them again."""

    def __init__(self, room: Room, make: Callable[[], Iterable[bytes]], size: int) -> None:
        super().__init__(-1)
        self._room = room
        self.make = make
        self.size = size
        self.is_there = False
        self.facts: tuple[int, bytes] | None = None  # records by a reader, and its depth

    def put(self, fd: int, start: int) -> None:
        """Record that the bytes are in the file `fd` now, at `start`."""
        self.fd, self._start = fd, start

    def begin(self) -> int:
        """Return the offset of the bytes in the room's file."""
        return self._start

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`."""
        if not self.is_there:
            self._room.place(self)
        # Another part follows in the file, so a read stops at the end of this one.
        return super().read(offset, min(size, max(0, self.size - offset)))


class Room:
    """A nameless file in which the newest parts replace the oldest."""

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._file: IO[bytes] | None = None
        self._end = 0  # end of the newest part
        self._kept: deque[Kept] = deque()  # the oldest first
        self._writing = 0
        self._drop: Callable[[], None] | None = None  # has the part in memory forgotten

    def hold(self, drop: Callable[[], None]) -> None:
        """Drop the part that is held in memory, and hold another; `drop` drops the new one."""
        if self._drop is not None:
            self._drop()
        self._drop = drop

    def close(self) -> None:
        """Free the file."""
        self._drop = None
        self._opened.close()

    def place(self, one: Kept) -> None:
        """Put a part into the file. Raises FormatError where the machine has no room for it."""
        try:
            if self._file is None:
                self._file = self._opened.enter_context(nameless())
            self._write(self._file.fileno(), one)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise FormatError(not_kept("its inflated bytes cannot be stored", error)) from error

    def _write(self, fd: int, one: Kept) -> None:
        one.put(fd, self._taken(one.size))
        self._kept.append(one)
        self._writing += 1  # a part may be inflated from another: writing must not wrap around
        try:
            at = one.begin()
            for piece in one.make():
                at += _written(fd, piece, at)
            one.is_there = True
        finally:
            self._writing -= 1

    def _taken(self, size: int) -> int:
        """Return an offset with room for `size` bytes, and evict the parts there."""
        if self._end + size > ROOM and not self._writing:
            while self._kept and self._kept[0].begin() >= self._end:
                self._kept.popleft().is_there = False
            self._end = 0
        start, self._end = self._end, self._end + size
        while self._kept and start <= self._kept[0].begin() < self._end:
            self._kept.popleft().is_there = False
        return start


def _written(fd: int, piece: bytes, at: int) -> int:
    done = 0
    while done < len(piece):
        done += pwrite(fd, memoryview(piece)[done:], at + done)
    return done


@contextmanager
def nameless() -> Iterator[IO[bytes]]:
    """Open a file without a name, in the folder for temporary files."""
    from tempfile import TemporaryFile  # slow to load, and most files need none

    with TemporaryFile() as file:
        yield file


def not_kept(what: str, error: OSError) -> str:
    """Return the message for a temporary folder that is full."""
    from tempfile import gettempdir

    return f"{what} in {gettempdir()} (see TMPDIR): {error.strerror}"
