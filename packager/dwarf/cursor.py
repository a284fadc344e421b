# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read numbers and strings one after the other, within bounds."""

from __future__ import annotations

from packager.errors import FormatError

MAX_LEB = 10  # bytes of a 64-bit number in groups of seven bits
MAX_TEXT = 1 << 12


class Cursor:
    """A place in some bytes that are named in messages."""

    def __init__(self, data: bytes, at: int, what: str, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end
        self._what = what

    def skip(self, size: int) -> None:
        """Go past `size` bytes."""
        if size < 0 or size > self.end - self.at:
            raise FormatError(f"{self._what} ends inside the value that begins at {self.at:#x}")
        self.at += size

    def take(self, size: int) -> bytes:
        """Read the next `size` bytes."""
        start = self.at
        self.skip(size)
        return self.data[start : self.at]

    def number(self, size: int) -> int:
        """Read an unsigned number of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def leb(self) -> int:
        """Read an unsigned LEB128 number."""
        value = shift = 0
        for _ in range(MAX_LEB):
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise FormatError(f"{self._what}: number at {self.at:#x} does not end")

    def signed_leb(self) -> int:
        """Read a signed LEB128 number."""
        start = self.at
        value = self.leb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def string(self) -> bytes:
        """Read the bytes before the next NUL."""
        start = self.at
        end = self.data.find(b"\0", start, self.end)
        if end < 0:
            raise FormatError(f"{self._what}: string at {start:#x} does not end")
        self.at = end + 1
        return self.data[start : min(end, start + MAX_TEXT)]
