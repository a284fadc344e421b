# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are compressed as a whole, or one by one in a package: read once, from the beginning.

Pieces are counted as they are inflated, because the total size is not known before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from packager.errors import NO_ROOM, FormatError, MissingToolError
from packager.files.context import Context
from packager.files.reader import MAX_INPUT, Reader
from packager.files.sources import File, nameless, not_kept
from packager.formats.compressed.inflate import (
    HELD,
    PIECE,
    count,
    expect_ratio,
    expected,
    zlib_pieces,
    zstd_pieces,
)

RAW, GZIP = -15, 31  # wbits of zlib
MEMORY = 1 << 28  # limit for a dictionary of xz


class _Decompressor(Protocol):
    """A decompressor of lzma or bz2."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def deflated(data: Reader, size: int, where: str) -> Iterator[bytes]:
    """Yield the `size` bytes that a file in a zip file inflates to."""
    expect_ratio(len(data), size, where, MAX_INPUT)
    return _counted(data, expected(zlib_pieces(data, where, RAW), size, where), where)


def stream(data: Reader, method: str, where: str) -> Iterator[bytes]:
    """Yield the inflated bytes of `data`: "gzip", "xz", "bzip2", "zstd", or "" for plain ones.

    Raises FormatError for damaged or truncated data, LimitError for too much, and MissingToolError
    if this Python lacks the module.
    """
    if not method:
        return data.pieces()
    if method == "gzip":
        return _counted(data, zlib_pieces(data, where, GZIP), where)
    if method == "zstd":
        return _counted(data, zstd_pieces(data, where), where)
    return _counted(data, _by_module(data, method, where), where)


def _counted(data: Reader, pieces: Iterator[bytes], where: str) -> Iterator[bytes]:
    for piece in pieces:
        count(data, len(piece), where)
        yield piece


def _by_module(data: Reader, method: str, where: str) -> Iterator[bytes]:
    make, fault = _decompressor(method)
    one = make()
    try:
        for stored in data.pieces():
            rest = stored
            while rest or not (one.needs_input or one.eof):
                if one.eof:
                    rest = rest.lstrip(b"\0")  # padding
                    if not rest:
                        break
                    one = make()
                yield one.decompress(rest, PIECE)
                rest = one.unused_data if one.eof else b""
    except (fault, EOFError) as error:
        raise FormatError(f"{where} is not {method} data: {error}") from error
    if not one.eof:
        raise FormatError(f"{where} is a {method} stream that is cut off")


def _decompressor(method: str) -> tuple[Callable[[], _Decompressor], type[Exception]]:
    """Return a function that creates decompressors, and the exception that they raise."""
    try:
        if method == "bzip2":
            from bz2 import BZ2Decompressor

            return BZ2Decompressor, OSError
        from lzma import FORMAT_XZ, LZMADecompressor, LZMAError
    except ImportError as error:
        raise MissingToolError(f"this Python has no module for {method}: {error}") from error
    return lambda: LZMADecompressor(FORMAT_XZ, memlimit=MEMORY), LZMAError


class _Spooled(File):
    """A nameless file of inflated bytes, which the package does not contain as such."""


@contextmanager
def spooled(pieces: Iterator[bytes], size: int, context: Context, whole: int) -> Iterator[Reader]:
    """Keep the `size` bytes of a file for the block: in memory, or in a file without a name."""
    if size > MAX_INPUT:
        raise FormatError(f"has {size} bytes; the limit is {MAX_INPUT}")
    if size <= HELD:
        yield Reader(b"".join(pieces), context=context, whole=whole)
        return
    with nameless() as file:
        try:
            file.writelines(pieces)
            file.flush()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise FormatError(not_kept("it cannot be stored", error)) from error
        yield Reader(_Spooled(file.fileno()), 0, size, context, whole)
