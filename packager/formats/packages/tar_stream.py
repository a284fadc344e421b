# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read a tar stream from a decompressor: headers of 512 bytes, each followed by its file.

POSIX's ustar with GNU's and pax's long names (pax(1), tar.h). Bytes of unused files are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packager.errors import FormatError, LimitError
from packager.files.names import text
from packager.formats.containers.payload import Damage
from packager.formats.packages.packed import MAX_FILES, MAX_NAME, Packed, Stream

BLOCK = 512
NAME, SIZE, CHECKSUM, TYPE, MAGIC, PREFIX = (
    slice(0, 100), slice(124, 136), slice(148, 156), slice(156, 157), slice(257, 263),
    slice(345, 500),
)  # fmt: skip
POSIX = b"ustar\0"
REGULAR = (b"0", b"\0", b"7")
LONG_NAME, OF_NEXT, SPARSE = b"L", b"x", b"S"
MAX_RECORD = 1 << 20  # names and other attributes of the next file
BINARY = 0x80  # marks GNU's large numbers
PIECE = 1 << 20


class _Stream:
    """Bytes in pieces, some at a time."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = filter(None, pieces)
        self._piece = b""
        self._begin = 0  # offset of the bytes not read yet
        self.at = 0

    def take(self, size: int) -> Iterator[bytes]:
        """Yield the next bytes, `size` in all. Raises FormatError where they end before."""
        while size:
            if self._begin == len(self._piece):
                self._piece, self._begin = next(self._pieces, b""), 0
                if not self._piece:
                    raise FormatError(f"tar is cut off at {self.at:#x}")
            piece = self._piece[self._begin : self._begin + size]
            size -= len(piece)
            self._begin += len(piece)
            self.at += len(piece)
            yield piece

    def bytes(self, size: int) -> bytes:
        """Return the next bytes."""
        return b"".join(self.take(size))


class _Taken:
    """The bytes of one file, as far as they have been read."""

    def __init__(self, stream: _Stream, size: int) -> None:
        self._stream = stream
        self.left = size

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes that have not been read."""
        while self.left:
            for piece in self._stream.take(min(self.left, PIECE)):
                self.left -= len(piece)
                yield piece


def files(pieces: Iterable[bytes], at: int) -> Iterator[Packed]:
    """Yield the regular files in their order; `at` is where the archive is in the package.

    Raises FormatError where a header is damaged or the archive is cut off.
    """
    stream = _Stream(pieces)
    named: bytes | None = None  # name in a record before the file
    count = 0
    while any(header := stream.bytes(BLOCK)):
        count += 1
        if count > MAX_FILES:
            raise LimitError(f"more than {MAX_FILES} files are not read")
        size, kind = _size(header, stream.at), header[TYPE]
        if kind in (LONG_NAME, OF_NEXT):
            named = _long_name(stream, kind, size) or named
            continue
        taken = _Taken(stream, size)
        if kind in REGULAR and size:
            name = text(named if named is not None else _name(header))
            yield Packed(name, Stream(size, taken.pieces, None), at)
        elif kind == SPARSE:
            name = text(named if named is not None else _name(header))
            yield Packed(name, Damage("is a sparse file, which is not read"), at)
        named = None
        for _ in taken.pieces():
            pass
        stream.bytes(-size % BLOCK)


def _size(header: bytes, at: int) -> int:
    signed = header[: CHECKSUM.start] + b" " * 8 + header[CHECKSUM.stop :]
    if _number(header[CHECKSUM]) != sum(signed):
        raise FormatError(f"header in the tar before {at:#x} has a wrong checksum")
    size = _number(header[SIZE])
    if size is None or size < 0:
        raise FormatError(f"header in the tar before {at:#x}: its size is not a number")
    return size


def _number(field: bytes) -> int | None:
    """Return a number in octal, or one of GNU's that are too large for that."""
    if field[0] == BINARY:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else None


def _name(header: bytes) -> bytes:
    name = header[NAME].split(b"\0", 1)[0]
    prefix = header[PREFIX].split(b"\0", 1)[0] if header[MAGIC] == POSIX else b""
    return (prefix + b"/" + name if prefix else name).removeprefix(b"./")


def _long_name(stream: _Stream, kind: bytes, size: int) -> bytes | None:
    """Return the name that a record has for the next file, if it has one."""
    if size > MAX_RECORD:
        raise FormatError(f"record in the tar at {stream.at:#x} claims {size} bytes")
    record = stream.bytes(size)
    stream.bytes(-size % BLOCK)
    name = record.split(b"\0", 1)[0] if kind == LONG_NAME else _path(record)
    if name is not None and len(name) > MAX_NAME:
        raise FormatError(f"name in the tar before {stream.at:#x} is longer than {MAX_NAME} bytes")
    return None if name is None else name.removeprefix(b"./")


def _path(record: bytes) -> bytes | None:
    """Return the value of the key "path": each line begins with its length."""
    while record:
        length, _, _ = record.partition(b" ")
        if not length.isdigit() or not 0 < int(length[:8]) <= len(record):
            return None
        line, record = record[: int(length[:8])], record[int(length[:8]) :]
        key, _, value = line[len(length) + 1 :].partition(b"=")
        if key == b"path":
            return value.removesuffix(b"\n")
    return None
