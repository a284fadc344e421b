# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds-checked reading of hostile files: every offset is checked here against a length."""

from __future__ import annotations

import builtins
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import IO, Any

from packager.errors import NO_ROOM, FormatError
from packager.files import portable
from packager.files.context import Context
from packager.files.sources import BLOCK, Bytes, File, Kept, Source, nameless, not_kept
from packager.look import WHOLE, Look

# Longest string that any reader accepts: symbol names of C++ templates reach a few thousand bytes.
MAX_STRING = 1 << 16
SHORT_STRING = 128
STANDARD_INPUT = Path("-")
PIECE = 1 << 20  # bytes that are copied at a time
MAX_INPUT = 1 << 34  # through a pipe
FEW_FILES = 200  # open files that any process may have: macOS allows 256


def called(path: Path | str) -> str:
    """Return the name of a file for messages, or of a member of standard input."""
    name = str(path)
    if name == str(STANDARD_INPUT) or name.startswith(f"{STANDARD_INPUT}("):
        return "standard input" + name.removeprefix(str(STANDARD_INPUT))
    return name


class NewerError(FormatError):
    """`part` of a file is of a format that came after this omptool, and its sizes are sound.

    `version` is that of the container, if it is one of OpenMP's.
    """

    def __init__(
        self, message: str, part: Reader, resume: int | None = None, version: int = 0
    ) -> None:
        super().__init__(message, resume)
        self.part = part
        self.version = version


_new = object.__new__


class Reader:
    """A view of `size` bytes of a file; `at` is the file offset of its first byte.

    Every access names the part that it reads. An access that would leave the view raises
    FormatError with this name and the file offsets, so no caller checks bounds itself.
    """

    __slots__ = ("_size", "_source", "at", "context", "whole")

    def __init__(
        self,
        data: builtins.bytes | bytearray | Source,
        at: int = 0,
        size: int | None = None,
        context: Context | None = None,
        whole: int | None = None,
    ) -> None:
        if isinstance(data, (bytes, bytearray)):
            self._source: Source = Bytes(bytes(data))
            size = len(data) if size is None else size
        else:
            self._source = data
        if size is None:
            raise ValueError("a source that is not bytes needs a size")
        self.at = at
        self._size = size
        self.context = context or Context(size)
        self.whole = size if whole is None else whole  # bytes of the file that this is a view of

    def __len__(self) -> int:
        return self._size

    def slice(self, offset: int, size: int, what: str) -> Reader:
        """Return a view of `size` bytes at `offset`; raise FormatError if they run past the end."""
        if offset < 0 or size < 0 or offset > self._size or size > self._size - offset:
            start = self.at + offset
            end = self.at + self._size
            raise FormatError(
                f"{what} at {start:#x}..{start + size:#x} runs past the end at {end:#x}"
            )
        view = _new(Reader)
        view._source, view.at, view._size = self._source, self.at + offset, size  # noqa: SLF001
        view.context, view.whole = self.context, self.whole
        return view

    def anew(self) -> Reader:
        """Return a reader of these bytes with quotas of its own."""
        return Reader(self._source, self.at, self._size)

    @contextmanager
    def looked_into(self, look: Look) -> Iterator[Reader]:
        """Open these bytes with quotas of their own; `look` is the depth to read images to."""
        with closing(Context(self._size, look)) as context:
            yield Reader(self._source, self.at, self._size, context)

    def bytes(self, offset: int = 0, size: int | None = None, what: str = "data") -> builtins.bytes:
        """Return `size` bytes at `offset`, or all bytes from there on."""
        size = self._size - offset if size is None else size
        if offset < 0 or size < 0 or size > self._size - offset:
            self.slice(offset, size, what)  # raises
        data = self._source.read(self.at + offset, size)
        if len(data) != size:  # the file shrank while it was read
            raise FormatError(f"{what} at {self.at + offset:#x} could not be read whole")
        return data

    def read_into(self, memory: memoryview) -> None:
        """Read all its bytes into `memory`, which is of the same size."""
        if type(self._source) is not File:
            memory[:] = self.bytes()
        elif portable.read_into(self._source.fd, memory, self.at) != self._size:  # the file shrank
            raise FormatError(f"data at {self.at:#x} could not be read whole")

    def pieces(self) -> Iterator[builtins.bytes]:
        """Yield all bytes in pieces: an image may exceed memory."""
        for start in range(0, self._size, PIECE):
            yield self.bytes(start, min(PIECE, self._size - start))

    def holds(self, word: builtins.bytes) -> bool:
        """Return whether the view contains the bytes `word`."""
        rest = b""
        for piece in self.pieces():
            if word in piece or (rest and word in rest + piece[: len(word)]):
                return True
            rest = piece[-len(word) :]
        return False

    @property
    def is_stored(self) -> bool:
        """Return whether the bytes are stored in the file at `at`, not inflated or piped."""
        return type(self._source) is File

    def fileno(self) -> int:
        """Return the file's descriptor, to copy from.

        Raises ValueError for a view of bytes that are in no file.
        """
        if type(self._source) is not File:
            raise ValueError("these bytes are in no file")
        return self._source.fd

    def inflated(self) -> Kept | None:
        """Return the inflated bytes that this is a view of, if it is one of all of them."""
        source = self._source
        return source if isinstance(source, Kept) and self._size == source.size else None

    def unpack(self, layout: Struct, offset: int, what: str) -> tuple[Any, ...]:
        """Unpack one record at `offset`."""
        return layout.unpack(self.bytes(offset, layout.size, what))

    def starts_with(self, magic: builtins.bytes) -> bool:
        """Return whether the view begins with `magic`; a shorter view does not."""
        return self._size >= len(magic) and self.bytes(0, len(magic)) == magic

    def string(self, offset: int, what: str) -> str:
        """Read the NUL-terminated string at `offset`."""
        if not 0 <= offset <= self._size:
            self.slice(offset, 0, what)  # raises
        room = min(MAX_STRING, self._size - offset)
        for size in (min(room, SHORT_STRING), room):  # most strings are short: read little first
            chunk = self._source.read(self.at + offset, size)
            end = chunk.find(b"\0")
            if end >= 0:
                return self.context.string(chunk[:end])
        raise FormatError(f"{what} at {self.at + offset:#x} has no terminating NUL")

    def strings(self, offsets: Iterable[int], what: Callable[[int], str]) -> Iterator[str]:
        """Read the strings at `offsets`, which lie close together; `what(n)` names the n-th."""
        start, block, context = 0, b"", self.context
        for number, offset in enumerate(offsets):
            inside = offset - start
            end = block.find(b"\0", inside) if 0 <= inside < len(block) else -1
            if end < 0 and 0 <= offset < self._size:
                start, inside = offset, 0
                block = self._source.read(self.at + offset, min(BLOCK, self._size - offset))
                end = block.find(b"\0")
            if end < 0:  # the string is long, or outside
                yield self.string(offset, what(number))
            else:
                yield context.string(block[inside:end])


@contextmanager
def open_reader(path: Path, look: Look = WHOLE) -> Iterator[Reader]:
    """Open the file at `path` for reading until the block ends.

    Raises FormatError if it is not a regular file or cannot be opened; the caller adds the path.
    """
    try:
        fd = os.open(path, portable.READING)
    except OSError as error:
        raise FormatError(error.strerror or str(error)) from error
    with _reader(fd, look) as data:
        yield data


@contextmanager
def open_input(path: Path, look: Look = WHOLE) -> Iterator[Reader]:
    """Open a file that the user named; "-" is standard input."""
    if path != STANDARD_INPUT:
        with open_reader(path, look) as data:
            yield data
        return
    with _reader(_standard_input(), look) as data:
        yield data


@contextmanager
def _reader(fd: int, look: Look) -> Iterator[Reader]:
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            if stat.S_ISFIFO(info.st_mode):
                raise FormatError("is not a regular file but a pipe, which is not supported")
            kind = "a directory" if stat.S_ISDIR(info.st_mode) else "not a regular file"
            raise FormatError(f"is {kind}")
        with closing(Context(info.st_size, look)) as context:
            yield Reader(File(fd, size=info.st_size), 0, info.st_size, context)
    finally:
        os.close(fd)


class OpenFiles:
    """Opens each file once, on demand; closes all at the end of the block."""

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._data: dict[Path, Reader] = {}
        self._lock = Lock()  # sums are taken by another thread

    def data(self, path: Path) -> Reader:
        """Return the bytes of a file. Raises FormatError as `open_reader` does."""
        with self._lock:
            if path not in self._data:
                if len(self._data) == FEW_FILES:
                    portable.allow_more()  # a build can name more than 1000
                self._data[path] = self._opened.enter_context(open_reader(path))
            return self._data[path].anew()

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def _standard_input() -> int:
    """Return a seekable descriptor of standard input.

    The bytes of a pipe go to a nameless temporary file, which replaces the pipe as descriptor 0.
    """
    portable.make_binary(0)
    try:
        if not stat.S_ISREG(os.fstat(0).st_mode):
            with nameless() as copy:
                _copy_input(copy)
                os.dup2(copy.fileno(), 0)
        return os.dup(0)
    except OSError as error:
        has_room = error.errno not in NO_ROOM
        what = str(error.strerror) if has_room else not_kept("cannot be stored", error)
        raise FormatError(what) from error


def _copy_input(copy: IO[bytes]) -> None:
    size = 0
    while piece := os.read(0, PIECE):
        size += len(piece)
        if size > MAX_INPUT:
            raise FormatError(f"is longer than {MAX_INPUT} bytes, which is the limit of input")
        copy.write(piece)
    copy.flush()
