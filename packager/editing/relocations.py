# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of relocations with addends: what an edit takes out, changes and puts in."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence

from packager.editing.linked import LinkedFile
from packager.editing.parts import Address, Part
from packager.elf.headers import DT_JMPREL, DT_RELA, DT_RELASZ, RELA
from packager.errors import FormatError, UsageError

DT_RELACOUNT = 0x6FFFFFF9
R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_RELATIVE = 1, 6, 8
WORDS = RELA.size // 8
MASK = (1 << 64) - 1


class Relocations:
    """The dynamic relocations of a file, to be written anew."""

    def __init__(self, file: LinkedFile) -> None:
        table = file.dynamic
        self.address = (table.value(DT_RELA) if table else None) or 0
        size = (table.value(DT_RELASZ) if table else None) or 0
        self.size = size  # before the edit
        self._words = _read(file, self.address, size)
        self._count = (table.value(DT_RELACOUNT) if table else None) or 0
        self._relative: list[tuple[Address, Address]] = []  # place and addend
        self._others: list[tuple[Address, int, int]] = []  # place, type and symbol, addend
        self.is_changed = False
        self._is_relocated = file.is_relocated
        plt = table.value(DT_JMPREL) if table else None
        self._holds_plt = plt is not None and self.address <= plt < self.address + size
        if self._count * WORDS > len(self._words):
            raise FormatError(f"{self._count} relative relocations in a table of {size} bytes")

    def row(self, place: int) -> int | None:
        """The number of the relocation of the word at `place`."""
        places = self._words[::WORDS]
        try:
            return places.index(place)
        except ValueError:
            return None

    def is_relative(self, row: int) -> bool:
        """Return whether a relocation adds the load address alone."""
        return self._words[row * WORDS + 1] == R_X86_64_RELATIVE

    def addend(self, row: int) -> int:
        """The addend of a relocation."""
        return self._words[row * WORDS + 2]

    def set_addend(self, row: int, value: Address) -> None:
        """Change the addend of a relocation."""
        place = self._words[row * WORDS]
        self._drop([row])
        self.add(Address(None, place), value)

    def take(self, row: int) -> tuple[int, int]:
        """Take a relocation of any kind out; return its type and symbol, and its addend."""
        _, info, addend = self._words[row * WORDS : (row + 1) * WORDS]
        self._drop([row])
        return info, addend

    def take_out(self, condition: Callable[[int], bool]) -> None:
        """Leave out the relocations of words whose places meet a condition."""
        places = self._words[::WORDS]
        self._drop([n for n, place in enumerate(places) if condition(place)])

    def _drop(self, gone: Sequence[int]) -> None:
        if not gone:
            return
        kept, start = array("Q"), 0
        for number in gone:
            kept += self._words[start * WORDS : number * WORDS]
            start = number + 1
        self._words = kept + self._words[start * WORDS :]
        self._count -= sum(number < self._count for number in gone)
        self.is_changed = True

    def add(self, place: Address, target: Address) -> None:
        """Put a relative relocation in."""
        self._relative.append((place, target))
        self.is_changed = True

    def add_of(self, part: Part) -> None:
        """Put in what the words of a new part need, where the loader relocates the file."""
        bound = {binding.at for binding in part.bindings}
        for fixup in part.fixups if self._is_relocated else ():
            if not fixup.is_distance and fixup.at not in bound:
                self.add(part.at(fixup.at), fixup.target)
        for at, info, addend in part.bindings:
            self._others.append((part.at(at), info, addend))
            self.is_changed = True

    def expect_movable(self) -> None:
        """Raise UsageError where the table has relocations of the PLT in it."""
        if self._holds_plt:
            raise UsageError(
                "its relocations and those of its PLT share a table, which cannot move"
            )

    @property
    def new_size(self) -> int:
        """The bytes of the table after the edit."""
        return len(self._words) * 8 + (len(self._relative) + len(self._others)) * RELA.size

    @property
    def new_count(self) -> int:
        """DT_RELACOUNT after the edit: the loader takes so many rows for relative ones."""
        return self._count + len(self._relative)

    def content(self) -> list[bytes]:
        """The table: the relative ones first."""
        head = self._words[: self._count * WORDS]
        tail = self._words[self._count * WORDS :]
        rows = sorted((at.value, to.value) for at, to in self._relative)
        added = b"".join(RELA.pack(at, R_X86_64_RELATIVE, _signed(to)) for at, to in rows)
        others = self._others
        last = b"".join(RELA.pack(at.value, info, _signed(addend)) for at, info, addend in others)
        return [_bytes(head), added, _bytes(tail), last]


def _read(file: LinkedFile, address: int, size: int) -> array[int]:
    words = array("Q")
    if not size:
        return words
    if size % RELA.size:
        raise FormatError(f"dynamic relocations of {size} bytes have a part of a record")
    offset = file.elf.offset(address, size)
    if offset is None:
        raise FormatError(f"dynamic relocations at address {address:#x} are not in the file")
    words.frombytes(file.data.bytes(offset, size, "dynamic relocations"))
    if sys.byteorder == "big":
        words.byteswap()
    return words


def _bytes(words: Sequence[int]) -> bytes:
    found = array("Q", words)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def _signed(value: int) -> int:
    value &= MASK
    return value - (1 << 64) if value >> 63 else value
