# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages of protobuf: numbers, and fields with their places, all within bounds.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.errors import FormatError
from packager.records import NamedTuple


class Bytes(NamedTuple):
    """A field of bytes: where they are."""

    begin: int
    end: int


class TooShortError(ValueError):
    """More bytes are needed."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends. Raises TooShortError where the data ends before."""
    number = shift = 0
    try:
        while (byte := data[at]) >= 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if shift > 63:
                raise FormatError("a number has more than ten bytes")
    except IndexError as error:
        raise TooShortError from error
    return number | byte << shift, at + 1


def message_at(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the number of a field of bytes, where they begin, and how many they are."""
    tag, at = varint(data, at)
    if tag & 7 != 2:
        raise FormatError(f"tag {tag:#x} is not that of a packet")
    size, at = varint(data, at)
    return tag >> 3, at, size


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | Bytes]]:
    """Yield each field of a message: its number, and its value or where its bytes are."""
    while at < end:
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
            if at > end:
                raise FormatError(f"field {tag >> 3} runs past its message")
            yield tag >> 3, value
            continue
        if wire not in (1, 2, 5):
            raise FormatError(f"field {tag >> 3} has the unknown wire type {wire}")
        size, at = varint(data, at) if wire == 2 else (8 if wire == 1 else 4, at)
        if size > end - at:
            raise FormatError(f"field {tag >> 3} of {size} bytes runs past its message")
        if wire == 2:
            yield tag >> 3, Bytes(at, at + size)
        at += size


def whole(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | Bytes]]:
    """Yield the fields of a message that is here as a whole."""
    try:
        yield from fields(data, at, end)
    except TooShortError as error:
        raise FormatError("a field runs past its packet") from error


def text(data: bytes, value: object) -> str:
    """Return a field of bytes as text, and "" for any other."""
    if not isinstance(value, Bytes):
        return ""
    return data[value.begin : value.end].decode("utf-8", "backslashreplace")


def number(value: object) -> int:
    """Return a field that is a number; any other is 0."""
    return value if isinstance(value, int) else 0
