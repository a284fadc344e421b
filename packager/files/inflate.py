"""Compressed parts of containers: zlib and zstd streams, LZ4 blocks. A small file may claim to
inflate to any size, so there is a limit for all of them together, and one of the ratio; what is
more than a little goes to a file without a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from packager.errors import FormatError, LimitError
from packager.files.reader import Reader

# ROCm's largest libraries inflate to some hundred MiB.
MAX_INFLATED = 1 << 30
MAX_BLOCK = 1 << 28  # of LZ4, which is inflated in one piece
# Code for many processors, each part much like the others, gets to a hundredth.
MAX_RATIO = 300
IN_MEMORY = 1 << 25  # of all that one file inflates to
PIECE = 1 << 20
# A zstd block inflates to at most 128 KiB and may take 4 bytes: what one piece can become.
SMALL_PIECE = 1 << 12
MAX_WINDOW = 1 << 27


def inflate(data: Reader, method: str, size: int, what: str, *, head: bytes = b"") -> Reader:
    """The `size` bytes that `head` and what `data` inflates to are, by "zlib", "zstd" or "lz4".

    Raises FormatError when it inflates to any other number of bytes, or to more than the limit.
    """
    where = f"{what} at {data.at:#x}"
    limit = MAX_BLOCK if method == "lz4" else MAX_INFLATED
    if size > limit:
        raise FormatError(f"{where} claims to inflate to {size} bytes; the limit is {limit}")
    if size > PIECE and size > MAX_RATIO * len(data):
        raise FormatError(
            f"{where} claims that {len(data)} bytes inflate to {size}; "
            f"the limit is {MAX_RATIO} times as many"
        )
    data.spent.inflated += size
    if data.spent.inflated > MAX_INFLATED:
        raise LimitError(f"{where}: the file inflates to more than the limit of {MAX_INFLATED}")
    if method == "lz4":
        pieces: Iterable[bytes] = (_lz4(data, size, where),)
    else:
        pieces = _zlib(data, where) if method == "zlib" else _zstd(data, where)
    return _gathered(chain((head,), _expected(pieces, len(head), size, where)), size, data)


def _expected(pieces: Iterable[bytes], total: int, size: int, where: str) -> Iterator[bytes]:
    """The pieces, which are read no further than `size` allows; `total` bytes precede them."""
    for piece in pieces:
        total += len(piece)
        if total > size:
            raise FormatError(f"{where} inflates to more than the {size} bytes that it claims")
        yield piece
    if total != size:
        raise FormatError(f"{where} inflates to {total} bytes, not to the {size} that it claims")


def _gathered(pieces: Iterable[bytes], size: int, source: Reader) -> Reader:
    """The pieces as one Reader; what one file inflates to beyond a little is in one other file."""
    spent = source.spent
    if spent.inflated <= IN_MEMORY:
        return Reader(b"".join(pieces), spent=spent, whole=source.whole)
    file, start = spent.keep(pieces)
    return Reader.of_part(file, start, size, source)


def _stored(data: Reader, size: int = PIECE) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data.bytes(start, min(size, len(data) - start), "compressed data")


def _zlib(data: Reader, where: str) -> Iterator[bytes]:
    import zlib

    stream = zlib.decompressobj()
    try:
        for piece in _stored(data):
            rest = piece
            while rest and not stream.eof:
                yield stream.decompress(rest, PIECE)
                rest = stream.unconsumed_tail
    except zlib.error as error:
        raise FormatError(f"{where} is no zlib stream: {error}") from error
    if not stream.eof:
        raise FormatError(f"{where} is a zlib stream that is cut off")


def _zstd(data: Reader, where: str) -> Iterator[bytes]:
    import zstandard

    stream = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()
    try:
        for piece in _stored(data, SMALL_PIECE):
            if stream.eof:
                break
            yield stream.decompress(piece)
    except zstandard.ZstdError as error:
        raise FormatError(f"{where} is no zstd stream: {error}") from error
    if not stream.eof:
        raise FormatError(f"{where} is a zstd stream that is cut off")


def _lz4(data: Reader, size: int, where: str) -> bytes:
    import lz4.block

    try:
        found: bytes = lz4.block.decompress(data.bytes(), uncompressed_size=size)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise FormatError(f"{where} is no LZ4 block: {error}") from error
    if len(found) != size:
        raise FormatError(
            f"{where} inflates to {len(found)} bytes, not to the {size} that it claims"
        )
    return found
