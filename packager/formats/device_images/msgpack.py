# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MessagePack (the specification of github.com/msgpack): maps, lists, strings and numbers.

It is what LLVM writes as metadata of AMD's code objects; nothing else is read.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from struct import Struct

from packager.errors import FormatError
from packager.files.names import text

Value = None | bool | int | float | str | bytes | list["Value"] | dict[str, "Value"]

MAX_DEPTH = 16
SHORT_STRING = 0xA0  # in the upper three bits; the length is in the others
CONSTANTS: dict[int, bool | None] = {0xC0: None, 0xC2: False, 0xC3: True}
NUMBERS = {
    0xCA: Struct(">f"), 0xCB: Struct(">d"), 0xCC: Struct(">B"), 0xCD: Struct(">H"),
    0xCE: Struct(">I"), 0xCF: Struct(">Q"), 0xD0: Struct(">b"), 0xD1: Struct(">h"),
    0xD2: Struct(">i"), 0xD3: Struct(">q"),
}  # fmt: skip
MAP, LIST, STRING, BYTES = "map", "list", "string", "bytes"
# First bytes of what has a size behind it: the kind, and the width of the size.
SIZED = {
    0xC4: (BYTES, 1), 0xC5: (BYTES, 2), 0xC6: (BYTES, 4), 0xD9: (STRING, 1), 0xDA: (STRING, 2),
    0xDB: (STRING, 4), 0xDC: (LIST, 2), 0xDD: (LIST, 4), 0xDE: (MAP, 2), 0xDF: (MAP, 4),
}  # fmt: skip


def decode(data: bytes, without: Collection[str] = ()) -> Value:
    """The value that `data` begins with. Raises FormatError when it is malformed.

    Maps are read without the values of the keys in `without`, which is faster.
    """
    return _Decoder(data, {name.encode() for name in without}).value(0)


class _Decoder:
    def __init__(self, data: bytes, without: Set[bytes]) -> None:
        self._data = data
        self._without = without
        self._at = 0
        self._names: dict[bytes, str] = {}  # keys, of which there are few

    def value(self, depth: int) -> Value:
        first = self._take(1)[0]
        if first < 0x80:
            return first
        if first < 0xC0:
            return self._part(*_short(first), depth)
        if first >= 0xE0:
            return first - 0x100
        if first in SIZED:
            kind, width = SIZED[first]
            return self._part(kind, int.from_bytes(self._take(width), "big"), depth)
        if first in NUMBERS:
            layout = NUMBERS[first]
            number: int | float = layout.unpack(self._take(layout.size))[0]
            return number
        if first in CONSTANTS:
            return CONSTANTS[first]
        raise FormatError(f"MessagePack has a value of type {first:#x}, which is not read")

    def _part(self, kind: str, size: int, depth: int) -> Value:
        """Return what has parts: `size` of them."""
        if size > len(self._data) - self._at:
            raise FormatError(f"MessagePack of {len(self._data)} bytes has a {kind} of {size}")
        if depth == MAX_DEPTH:
            raise FormatError(f"MessagePack is nested more than {MAX_DEPTH} deep")
        if kind == STRING:
            return text(self._take(size))
        if kind == BYTES:
            return self._take(size)
        if kind == LIST:
            return [self.value(depth + 1) for _ in range(size)]
        return self._map(size, depth)

    def _map(self, size: int, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for _ in range(size):
            start = self._at
            first = self._data[start] if start < len(self._data) else 0
            if first & 0xE0 != SHORT_STRING:
                name = str(self.value(depth + 1))
            else:  # as nearly all keys are
                raw = self._data[start + 1 : start + 1 + (first & 0x1F)]
                self._at += 1 + (first & 0x1F)
                if raw in self._without:
                    self._skip()
                    continue
                name = self._names.setdefault(raw, "") or text(raw)
                self._names[raw] = name
            found[name] = self.value(depth + 1)
        return found

    def _skip(self) -> None:
        """Past a value."""
        data, at, left = self._data, self._at, 1
        try:
            while left:
                first = data[at]
                size, parts = STEPS[first]
                if parts < 0:  # the number of bytes or parts follows
                    kind = SIZED[first][0]
                    count = int.from_bytes(data[at + 1 : at + size], "big")
                    parts = count * PARTS[kind]
                    size += 0 if parts else count
                at += size
                left += parts - 1
        except IndexError as error:
            raise FormatError(f"MessagePack of {len(data)} bytes is cut off") from error
        self._at = at

    def _take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise FormatError(f"MessagePack of {len(self._data)} bytes is cut off")
        return self._data[start : self._at]


def _short(first: int) -> tuple[str, int]:
    if first < 0x90:
        return MAP, first & 0xF
    if first < 0xA0:
        return LIST, first & 0xF
    return STRING, first & 0x1F


# The number of values in each part of something with a size; none in strings and bytes.
PARTS = {MAP: 2, LIST: 1, STRING: 0, BYTES: 0}


def _step(first: int) -> tuple[int, int]:
    """Return how many bytes a value that begins so has by itself, and how many values follow in it.

    The latter is -1 where a size says it.
    """
    if first in SIZED:
        return 1 + SIZED[first][1], -1
    if first in NUMBERS:
        return 1 + NUMBERS[first].size, 0
    if not 0x80 <= first < 0xC0:
        return 1, 0
    kind, size = _short(first)
    return (1, size * PARTS[kind]) if PARTS[kind] else (1 + size, 0)


STEPS = [_step(first) for first in range(256)]
