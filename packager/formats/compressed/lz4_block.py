# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inflate LZ4 blocks, whole or only the beginning, which the lz4 package cannot do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packager.errors import FormatError
from packager.formats.compressed import helper

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG, SHORTEST_MATCH = 15, 4  # a length of 15 goes on in the next bytes
FULL = 255  # marks a longer length, as does each such byte of it


def inflated(block: bytes, size: int, where: str) -> bytes:
    """Return the `size` bytes that a block inflates to. Raises FormatError for a damaged one."""
    import lz4.block

    try:
        found: bytes = lz4.block.decompress(block, uncompressed_size=size)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise FormatError(f"{where} is not an LZ4 block: {error}") from error
    if len(found) != size:
        raise FormatError(
            f"{where} inflates to {len(found)} bytes, not to the {size} that it claims"
        )
    return found


def beginning(block: bytes, size: int) -> bytes | None:
    """Return the first `size` bytes of a block that begins with `block`.

    Return None if it is damaged or needs more input.
    """
    compiled = helper.built()
    return compiled.beginning(block, size) if compiled else _beginning(block, size)


def _beginning(block: bytes, size: int) -> bytes | None:
    """Return the result of `beginning`, without the compiled helper."""
    found, rest = bytearray(), iter(block)
    try:
        while len(found) < size:
            token = next(rest)
            for _ in range(min(_length(token >> 4, rest), size - len(found))):
                found.append(next(rest))
            if len(found) == size:
                break
            distance = next(rest) | next(rest) << 8
            count = _length(token & LONG, rest) + SHORTEST_MATCH
            if not 0 < distance <= len(found):
                return None
            for _ in range(min(count, size - len(found))):
                found.append(found[-distance])
    except StopIteration:
        return None
    return bytes(found)


def _length(first: int, rest: Iterator[int]) -> int:
    more = FULL if first == LONG else 0
    while more == FULL:
        more = next(rest)
        first += more
    return first
