# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of relocations with addends that a file has."""

from __future__ import annotations

import sys
from array import array
from functools import cached_property

from packager.elf.headers import RELA
from packager.errors import FormatError
from packager.files.reader import Reader

WORDS = RELA.size // 8


class Relocations:
    """The dynamic relocations of a file, by their numbers."""

    def __init__(self, data: Reader, address: int, count: int, relative: int) -> None:
        self._relative = relative
        self.address = address
        self.size = len(data)
        self.count = count  # number of relative relocations, which come first
        self.words = _words(data)
        if count * WORDS > len(self.words):
            raise FormatError(f"{count} relative relocations in a table of {self.size} bytes")

    @cached_property
    def places(self) -> array[int]:
        """Return the addresses of the relocated words."""
        return self.words[::WORDS]

    def row(self, place: int) -> int | None:
        """Return the number of the relocation at `place`, or None."""
        try:
            return self.places.index(place)
        except ValueError:
            return None

    def is_relative(self, row: int) -> bool:
        """Return whether a relocation adds the load address alone."""
        return self.info(row) == self._relative

    def info(self, row: int) -> int:
        """Return the type and symbol of a relocation."""
        return self.words[row * WORDS + 1]

    def addend(self, row: int) -> int:
        """Return the addend of a relocation."""
        return self.words[row * WORDS + 2]


def _words(data: Reader) -> array[int]:
    if len(data) % RELA.size:
        raise FormatError(f"dynamic relocations of {len(data)} bytes have a part of a record")
    words = array("Q", data.bytes(what="dynamic relocations"))
    if sys.byteorder == "big":
        words.byteswap()
    return words
