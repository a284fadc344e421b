# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Zstandard frame (RFC 8878) as a container: Intel's compilers compress images to frames.

magic, u8 descriptor, window, dictionary, content size; then blocks, each with u24 of last (1 bit),
type (2) and size; then maybe a checksum of 4 bytes. Frames to skip may precede it: magic, u32 size.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.compressed.inflate import SKIPPABLE_MAGIC, inflate, is_zstd
from packager.formats.containers.payload import Payload
from packager.records import NamedTuple

NAME = "zstd"
MAGIC = Struct("<I")
TO_SKIP = Struct("<II")
HEADER = Struct("<4sB")
BLOCK = Struct("<HB")
RLE, RESERVED = 1, 3  # types of blocks; the first has one byte, however many it stands for
CHECKSUM = 4
DICTIONARY_SIZES = (0, 1, 2, 4)
CONTENT_SIZES = (0, 2, 4, 8)
TWO_BYTES_FROM = 256  # a content size of two bytes begins there
MAX_BLOCKS = 1 << 20
MAX_SKIPPED = 1 << 10


class Frame(NamedTuple):
    """Size of a frame, and its inflated size."""

    stored: int
    inflated: int


def probe(data: Reader) -> bool:
    """Return whether `data` begins with a frame."""
    return is_zstd(data)


def parse(data: Reader) -> Iterator[Payload]:
    """Yield the inflated frame. Raises FormatError if it is damaged."""
    frame = measure(data)
    stored = data.slice(0, frame.stored, "zstd frame")
    image = inflate(stored, "zstd", frame.inflated, "zstd frame")
    yield Payload(image, compression="zstd", stored=stored)


def measure(data: Reader) -> Frame:
    """Return the sizes of the frame at the start of `data`, from its headers."""
    start = _skipped(data)
    _, descriptor = data.unpack(HEADER, start, "zstd frame header")
    is_single = bool(descriptor & 0x20)
    at = start + HEADER.size + (not is_single) + DICTIONARY_SIZES[descriptor & 3]
    width = CONTENT_SIZES[descriptor >> 6] or int(is_single)
    if not width:
        raise FormatError(f"zstd frame at {data.at:#x} does not give its inflated size")
    size = int.from_bytes(data.bytes(at, width, "zstd frame header"), "little")
    end = _end_of_blocks(data, at + width)
    end += CHECKSUM if descriptor & 4 else 0
    return Frame(end, size + (TWO_BYTES_FROM if width == 2 else 0))


def _skipped(data: Reader) -> int:
    """Return the size of skippable frames at the start."""
    at = 0
    for _ in range(MAX_SKIPPED):
        if data.unpack(MAGIC, at, "zstd frame header")[0] & ~0xF != SKIPPABLE_MAGIC:
            return at
        _, size = data.unpack(TO_SKIP, at, "zstd frame to skip")
        at += TO_SKIP.size + size
    raise FormatError(f"more than {MAX_SKIPPED} zstd frames to skip at {data.at:#x}")


def _end_of_blocks(data: Reader, at: int) -> int:
    for _ in range(MAX_BLOCKS):
        low, high = data.unpack(BLOCK, at, "zstd block header")
        word = low | high << 16
        kind, size = word >> 1 & 3, word >> 3
        if kind == RESERVED:
            raise FormatError(f"zstd block at {data.at + at:#x} has a reserved type")
        at += BLOCK.size + (1 if kind == RLE else size)
        if word & 1:
            return at
    raise FormatError(f"zstd frame at {data.at:#x} has more than {MAX_BLOCKS} blocks")
