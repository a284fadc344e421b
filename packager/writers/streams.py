# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stream bytes from files to a file, without holding an image in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.writers.elf_types import FilePart, KeptContent

# Size of a copy: 128 KiB take a quarter longer, more than 1 MiB no less. copy_file_range is no
# faster, because an image does not start at a page of the output.
PIECE = 1 << 20
Copied = Callable[[int], None]


def ignore(_size: int) -> None:
    """Ignore the progress of copying."""


def pieces(content: KeptContent, copied: Copied = ignore) -> Iterator[bytes | memoryview]:
    """Yield `content` in pieces; each piece may overwrite the one before.

    Calls `copied` with the size of every piece of a file. Raises FormatError for a file that has
    become shorter.
    """
    for part in content:
        if isinstance(part, bytes):
            yield part
            continue
        yield from _of_file(part, copied) if isinstance(part, FilePart) else _of_open(part, copied)


def _of_open(part: Reader, copied: Copied) -> Iterator[bytes]:
    for piece in part.pieces():
        yield piece
        copied(len(piece))


def _of_file(part: FilePart, copied: Copied) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(min(PIECE, part.size)))
    for start in range(0, part.size, PIECE):
        piece = buffer[: min(PIECE, part.size - start)]
        try:
            part.data.slice(start, len(piece), "image").read_into(piece)
        except FormatError as error:
            raise FormatError(f"{part.path} ends while it is copied") from error
        yield piece
        copied(len(piece))


def told(
    parts: Iterable[bytes | memoryview], tell: Callable[[bytes | memoryview], None]
) -> Iterator[bytes | memoryview]:
    """Call `tell` with each part, then yield it."""
    for part in parts:
        tell(part)
        yield part


def compressed(
    parts: Iterable[bytes | memoryview], size: int, method: str, level: int
) -> Iterator[bytes]:
    """Yield the stream that `size` bytes are compressed to, by "zlib" or "zstd"."""
    if method == "zlib":
        import zlib

        deflated = zlib.compressobj(level)
        yield from (deflated.compress(part) for part in parts)
        yield deflated.flush()
        return
    import zstandard

    packed = zstandard.ZstdCompressor(level=level).compressobj(size=size)
    yield from (packed.compress(part) for part in parts)
    yield packed.flush()
