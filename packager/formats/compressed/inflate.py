# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inflate compressed parts of containers: zlib and zstd streams, LZ4 blocks.

A small file may claim to inflate to any size. So there is a limit for the sum of all parts, and one
for the ratio. Large results are kept in a nameless temporary file while there is room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.files.sources import Kept
from packager.formats.compressed import lz4_block

if TYPE_CHECKING:
    import zstandard

    from packager.formats.compressed.helper import Image

MAX_PART = 1 << 30
MAX_BLOCK = 1 << 28  # LZ4 is inflated in one piece
# Largest ratio of a large part. Code for many similar processors is compressed to a hundredth; only
# small images of zeros are compressed more.
MAX_RATIO = 300
ANY_RATIO = 1 << 23
# Most bytes of all parts together: NVIDIA's libraries inflate to 2 GiB, or nine times their size.
MAX_INFLATED = 1 << 30
MAX_TIMES = 32
IN_MEMORY = 1 << 25  # inflated bytes of a file that stay in memory
HELD = 1 << 24  # largest image that is held in memory
PIECE = 1 << 20
# Input size of a piece: a zstd block of 4 bytes inflates to 128 KiB at most.
SMALL_PIECE = 1 << 12
MAX_WINDOW = 1 << 27
MARKED = b"!"
MARK = b"\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00" + MARKED  # a frame with these bytes
ZSTD_MAGIC, SKIPPABLE_MAGIC, MAGIC_SIZE = 0xFD2FB528, 0x184D2A50, 4


def inflate(
    data: Reader,
    method: str,
    size: int,
    what: str,
    *,
    head: bytes = b"",
    seen: Callable[[bytes], object] | None = None,
) -> Reader:
    """Inflate `data` by "zlib", "zstd" or "lz4" to a reader of `size` bytes that start with `head`.

    `seen` receives the pieces each time they are inflated, perhaps later and more than once. Raises
    FormatError if the data inflate to another size, or to more than the limit.
    """
    where = f"{what} at {data.at:#x}"
    expect_size(data, method, size, where)
    context = data.context

    def make() -> Iterator[bytes]:
        found = pieces(data, method, size, where, head)
        return _watched(found, seen) if seen else found

    if context.inflated <= IN_MEMORY:
        return Reader(b"".join(make()), context=context, whole=data.whole)
    kept = Kept(context.room, make, size)
    context.room.place(kept)
    return Reader(kept, 0, size, context, data.whole)


def _watched(pieces: Iterator[bytes], seen: Callable[[bytes], object]) -> Iterator[bytes]:
    for piece in pieces:
        seen(piece)
        yield piece


def expect_size(data: Reader, method: str, size: int, where: str) -> None:
    """Count `size`, the declared inflated size of `data`. Raises FormatError if it is too large."""
    limit = MAX_BLOCK if method == "lz4" else MAX_PART
    expect_ratio(len(data), size, where, limit)
    count(data, size, where)


def pieces(
    data: Reader, method: str, size: int, where: str, head: bytes = b"", *, by_frame: bool = True
) -> Iterator[bytes]:
    """Return the inflated bytes of `data`, after `head`, in one piece or several."""
    is_small = by_frame and max(size, len(data)) <= HELD
    frame = data.bytes(what="compressed data") if is_small and method == "zstd" else None
    whole = None if frame is None else zstd_frame(frame, size - len(head))
    found = _pieces(data, method, size, where) if whole is None else (whole,)
    # Without a head the single piece is not joined, which would copy it.
    return expected(chain((head,), found) if head else found, size, where)


def expect_ratio(stored: int, size: int, where: str, limit: int) -> None:
    """Raise FormatError for more bytes than `limit`, or than so many stored ones inflate to."""
    if size > limit:
        raise FormatError(f"{where} claims to inflate to {size} bytes; the limit is {limit}")
    if size > ANY_RATIO and size > MAX_RATIO * stored:
        raise FormatError(
            f"{where} claims that {stored} bytes inflate to {size}; "
            f"the limit is {MAX_RATIO} times as many"
        )


def count(data: Reader, size: int, where: str) -> None:
    """Count the inflated size of a part. Raises LimitError if the sum is too large."""
    data.context.inflated += size
    limit = max(MAX_INFLATED, MAX_TIMES * data.whole)
    if data.context.inflated > limit:
        raise LimitError(f"{where}: the file inflates to more than the limit of {limit} bytes")


def _pieces(data: Reader, method: str, size: int, where: str) -> Iterable[bytes]:
    if method == "lz4":
        return (lz4_block.inflated(data.bytes(), size, where),)
    return zlib_pieces(data, where) if method == "zlib" else zstd_pieces(data, where)


def expected(pieces: Iterable[bytes], size: int, where: str) -> Iterator[bytes]:
    """Yield the pieces, and raise FormatError unless their sizes add up to `size`."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > size:
            raise FormatError(f"{where} inflates to more than the {size} bytes that it claims")
        yield piece
    if total != size:
        raise FormatError(f"{where} inflates to {total} bytes, not to the {size} that it claims")


def _stored(data: Reader, size: int = PIECE) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data.bytes(start, min(size, len(data) - start), "compressed data")


def zlib_pieces(data: Reader, where: str, form: int = 15) -> Iterator[bytes]:
    """Yield the inflated bytes of a zlib stream; `form` is zlib's wbits."""
    import zlib

    stream = zlib.decompressobj(form)
    try:
        for piece in _stored(data):
            rest = piece
            while rest and not stream.eof:
                yield stream.decompress(rest, PIECE)
                rest = stream.unconsumed_tail
        while not stream.eof and (piece := stream.decompress(b"", PIECE)):
            yield piece  # the previous input contained the last bits
    except zlib.error as error:
        raise FormatError(f"{where} is not a zlib stream: {error}") from error
    if not stream.eof:
        raise FormatError(f"{where} is a zlib stream that is cut off")


def is_zstd(data: Reader) -> bool:
    """Return whether `data` begins with a frame of zstd (RFC 8878), or with one to skip."""
    return len(data) >= MAGIC_SIZE and _is_frame(data.bytes(0, MAGIC_SIZE))


def _is_frame(data: bytes) -> bool:
    magic = int.from_bytes(data[:MAGIC_SIZE], "little")
    return magic == ZSTD_MAGIC or magic & ~0xF == SKIPPABLE_MAGIC


def zstd_pieces(data: Reader, where: str) -> Generator[bytes, None, None]:
    """Yield the inflated bytes of all frames; skippable frames and padding yield nothing."""
    import zstandard

    stream, rest = None, b""  # rest: input of the next frame
    inflater = _spare_inflater()
    try:
        for piece in _stored(data, SMALL_PIECE):
            rest += piece
            while stream or len(rest) >= MAGIC_SIZE:
                if stream is None and not _is_frame(rest):
                    return
                stream = stream or inflater.decompressobj()
                yield stream.decompress(rest)
                rest = stream.unused_data
                if not stream.eof:
                    break
                stream = None
    except zstandard.ZstdError as error:
        raise FormatError(f"{where} is not a zstd stream: {error}") from error
    finally:
        _SPARE[:] = [inflater]
    if stream:
        raise FormatError(f"{where} is a zstd stream that is cut off")


# The decompressor of the last finished stream, for reuse. Its window has as many bytes as a frame
# inflates to; allocating it takes half as long as decompressing the frame.
_SPARE: list[zstandard.ZstdDecompressor] = []


def _spare_inflater() -> zstandard.ZstdDecompressor:
    """Return an inflater that no other stream uses."""
    import zstandard

    try:
        return _SPARE.pop()
    except IndexError:
        return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)


class _Local(threading.local):
    """A thread's decompressor: creating one takes as long as inflating a small image."""

    @cached_property
    def inflater(self) -> zstandard.ZstdDecompressor:
        """Return the decompressor, for one frame at a time."""
        import zstandard

        return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)


_LOCAL = _Local()


def zstd_frame(frame: bytes | memoryview, size: int) -> bytes | None:
    """Return the inflated bytes of a single frame of this declared size, else None."""
    import zstandard

    try:
        if zstandard.frame_content_size(frame) != size:
            return None
        return _LOCAL.inflater.decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError:
        return None  # the slow way finds the fault


def zstd_image(frames: memoryview, image: Image) -> bool:
    """Inflate frames, the last of which is MARK. Returns False for anything unusual.

    The mark detects a truncated frame, which would consume its bytes: zstandard reports none.
    """
    import zstandard

    try:
        with _LOCAL.inflater.stream_reader(frames, read_across_frames=True) as stream:
            is_filled = all(stream.readinto(place) == len(place) for place in image.places())
            return is_filled and bool(stream.read(2) == MARKED)
    except zstandard.ZstdError:
        return False
