"""Bounds-checked reading of hostile files: the one place where an offset meets a length."""

from __future__ import annotations

import builtins
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import IO, Any, Protocol

from packager.errors import FormatError

# Longest string that any reader accepts: symbol names of C++ templates reach a few thousand bytes.
MAX_STRING = 1 << 16
SHORT_STRING = 128
STANDARD_INPUT = Path("-")
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
# What comes through a pipe is copied to a file without a name.
PIECE = 1 << 20
MAX_INPUT = 1 << 34


def text(name: bytes) -> str:
    """A name in a file as text that is safe to show: what is not printable is escaped."""
    decoded = name.decode("utf-8", "backslashreplace")
    if decoded.isprintable():
        return decoded
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in decoded)


class _Source(Protocol):
    def read(self, offset: int, size: int) -> bytes: ...


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]


class _File:
    """Reads by pread, so that a 2 GB executable costs only the bytes that are asked for."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._fd, size, offset)


class _Held(_File):
    """A file without a name, which lives as long as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file.fileno())
        self._file = file


class Reader:
    """A view of `size` bytes of a file; `at` is the file offset of its first byte.

    Every access names what it reads, and one that would leave the view raises FormatError with
    that name and the file offsets, so no caller checks bounds itself.
    """

    def __init__(self, data: bytes | _Source, at: int = 0, size: int | None = None) -> None:
        if isinstance(data, (bytes, bytearray)):
            self._source: _Source = _Bytes(bytes(data))
            size = len(data) if size is None else size
        else:
            self._source = data
        if size is None:
            raise ValueError("a source that is not bytes needs a size")
        self.at = at
        self._size = size

    @classmethod
    def of_file(cls, file: IO[bytes], size: int) -> Reader:
        """The first `size` bytes of an open file, which stays open as long as they are read."""
        return cls(_Held(file), 0, size)

    def __len__(self) -> int:
        return self._size

    def slice(self, offset: int, size: int, what: str) -> Reader:
        """The view of `size` bytes at `offset` of this one."""
        if offset < 0 or size < 0 or offset > self._size or size > self._size - offset:
            start = self.at + offset
            end = self.at + self._size
            raise FormatError(
                f"{what} at {start:#x}..{start + size:#x} runs past the end at {end:#x}"
            )
        return Reader(self._source, self.at + offset, size)

    def bytes(self, offset: int = 0, size: int | None = None, what: str = "data") -> builtins.bytes:
        """`size` bytes at `offset`, or all from there on."""
        view = self.slice(offset, self._size - offset if size is None else size, what)
        data = self._source.read(view.at, len(view))
        if len(data) != len(view):  # the file shrank while it was read
            raise FormatError(f"{what} at {view.at:#x} could not be read whole")
        return data

    def unpack(self, layout: Struct, offset: int, what: str) -> tuple[Any, ...]:
        """One record at `offset`."""
        return layout.unpack(self.bytes(offset, layout.size, what))

    def starts_with(self, magic: builtins.bytes) -> bool:
        """Whether the view begins with `magic`; a shorter view does not."""
        return self._size >= len(magic) and self.bytes(0, len(magic)) == magic

    def string(self, offset: int, what: str) -> str:
        """The NUL-terminated string at `offset`."""
        room = min(MAX_STRING, len(self) - self.slice(offset, 0, what).at + self.at)
        for size in (min(room, SHORT_STRING), room):  # most strings are short: read little first
            chunk = self.bytes(offset, size, what)
            end = chunk.find(b"\0")
            if end >= 0:
                return text(chunk[:end])
        raise FormatError(f"{what} at {self.at + offset:#x} has no terminating NUL")


@contextmanager
def open_reader(path: Path) -> Iterator[Reader]:
    """A Reader over the file at `path`, closed at the end of the block; "-" is standard input.

    Raises FormatError for what is not a regular file or can't be opened; the caller names the file.
    """
    try:
        fd = _standard_input() if path == STANDARD_INPUT else os.open(path, FLAGS)
    except OSError as error:
        raise FormatError(error.strerror or str(error)) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            kind = "a directory" if stat.S_ISDIR(info.st_mode) else "not a regular file"
            raise FormatError(f"is {kind}")
        yield Reader(_File(fd), 0, info.st_size)
    finally:
        os.close(fd)


def _standard_input() -> int:
    """A descriptor of what is on standard input: a file as it is, a pipe's bytes in one."""
    if stat.S_ISREG(os.fstat(0).st_mode):
        return os.dup(0)
    with tempfile.TemporaryFile() as copy:
        size = 0
        while piece := os.read(0, PIECE):
            size += len(piece)
            if size > MAX_INPUT:
                raise FormatError(f"is longer than {MAX_INPUT} bytes, which is the limit of input")
            copy.write(piece)
        copy.flush()
        return os.dup(copy.fileno())
