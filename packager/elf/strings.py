# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""String tables of ELF files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from packager.errors import FormatError
from packager.files.reader import MAX_STRING, Reader

# Largest string table that is read whole; a larger one is read string by string.
SMALL_STRINGS = 1 << 22
FEW = 1 << 10


class Strings:
    """A string table; a small one is read at once, since every name needs it."""

    def __init__(self, data: Reader, what: str) -> None:
        self._data = data
        self._what = what
        self._context = data.context
        self._bytes: bytes | None = None
        self._plain = ""  # all strings, if every character is printable

    def __getitem__(self, offset: int) -> str:
        if self._bytes is None:
            if len(self._data) > SMALL_STRINGS:
                return self._data.string(offset, self._what)
            self._read()
        if self._plain:
            end = self._plain.find("\0", offset, offset + MAX_STRING)
            if end >= 0:
                self._context.count(end - offset)
                return self._plain[offset:end]
        return self._decoded(self._bytes or b"", offset)

    def each(self, offsets: Sequence[int]) -> list[str]:
        """Return the strings at `offsets`. This is fast if they are most of the table."""
        known = self._parts(FEW + 2 * len(offsets))
        found = list(map(known.get, offsets)) if known else [None] * len(offsets)
        self._context.count(sum(map(len, filter(None, found))))
        return [self[at] if one is None else one for at, one in zip(offsets, found, strict=True)]

    def _parts(self, most: int) -> dict[int, str]:
        """Return all strings by offset; empty if there are too many or one is not plain text."""
        if self._bytes is None and len(self._data) <= SMALL_STRINGS:
            self._read()
        if self._plain.count("\0") > most:
            return {}
        *parts, _ = self._plain.split("\0")  # text after the last NUL is no string
        if max(map(len, parts), default=0) >= MAX_STRING:
            return {}
        starts = accumulate(map((1).__add__, map(len, parts)), initial=0)
        return dict(zip(starts, parts, strict=False))

    def _read(self) -> None:
        self._bytes = self._data.bytes(what=self._what)
        if self._bytes.isascii():
            plain = self._bytes.decode("ascii")
            self._plain = plain if plain.replace("\0", "").isprintable() else ""

    def _decoded(self, block: bytes, offset: int) -> str:
        end = block.find(b"\0", offset, offset + MAX_STRING)
        if end < 0:
            raise FormatError(
                f"{self._what}: offset {offset:#x} is outside {len(block)} bytes"
                if offset + MAX_STRING > len(block)
                else f"{self._what}: the name at {offset:#x} is longer than {MAX_STRING} bytes"
            )
        return self._context.string(block[offset:end])
