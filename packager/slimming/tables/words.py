# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New values for words of a linked file, where the loader finds them."""

from __future__ import annotations

from pathlib import Path

from packager.editing.linked import LinkedFile
from packager.elf.headers import RELA, WORD, Elf
from packager.errors import FormatError, UsageError
from packager.files.reader import Reader
from packager.records import NamedTuple
from packager.slimming.pieces import Piece, Rewritten

ADDEND = RELA.size - WORD.size  # offset in a relocation


class Opened(NamedTuple):
    """A file as an edit opens it."""

    data: Reader
    elf: Elf | None
    path: Path = Path()


class Words:
    """The words of a linked file."""

    def __init__(self, data: Reader, elf: Elf) -> None:
        """Read its relocations when they are needed. Raises UsageError for an unfit file."""
        self._file = LinkedFile(Opened(data, elf))

    def number(self, address: int, size: int, value: int) -> Rewritten:
        """Return a number of `size` bytes with a new value."""
        return self._patch(address, value.to_bytes(size, "little"))

    def pointer(self, address: int, target: int) -> list[Rewritten]:
        """Return a changed pointer: the word, its relocation's addend, or both.

        Raises UsageError for a pointer that a symbol's name binds.
        """
        relocations = self._file.relocations
        row = relocations.row(address)
        if row is None:
            return [self._patch(address, WORD.pack(target))]
        if not relocations.is_relative(row):
            raise UsageError(f"the pointer at {address:#x} is bound by a symbol's name")
        place = relocations.address + row * RELA.size + ADDEND
        found = [self._patch(place, WORD.pack(target))]
        (word,) = WORD.unpack(self._bytes(address, WORD.size))
        if word and word == relocations.addend(row):  # linkers may write it in both places
            found.append(self._patch(address, WORD.pack(target)))
        return found

    def read(self, address: int) -> int:
        """Return the pointer at an address, as relocated for load address 0."""
        row = self._file.relocations.row(address)
        if row is not None:
            return self._file.relocations.addend(row)
        (word,) = WORD.unpack(self._bytes(address, WORD.size))
        return int(word)

    def _bytes(self, address: int, size: int) -> bytes:
        return self._file.data.bytes(self._offset(address, size), size, "word of a table")

    def _patch(self, address: int, content: bytes) -> Rewritten:
        at = self._file.data.at + self._offset(address, len(content))
        return Rewritten(at, len(content), 1, (Piece(-1, len(content), content),))

    def _offset(self, address: int, size: int) -> int:
        offset = self._file.elf.offset(address, size)
        if offset is None:
            raise FormatError(f"the word at {address:#x} is not in the file")
        return offset
