# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of relocations after an edit."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence

from packager.editing.linked import DT_RELACOUNT, LinkedFile
from packager.editing.plan import Address, Later, Part, Plan, Tag
from packager.editing.relocations import WORDS
from packager.elf.headers import (
    DT_JMPREL,
    DT_RELA,
    DT_RELASZ,
    RELA,
    SHT_DYNSYM,
    SHT_RELA,
)
from packager.errors import UsageError
from packager.records import NamedTuple
from packager.writers.elf_types import SHF_ALLOC

DT_RELAENT = 9
MASK = (1 << 64) - 1


class Rows(NamedTuple):
    """The relocations after an edit: those of the file that stay, and new ones."""

    kept: array[int]
    kept_relative: int  # the first of those that stay
    relative: Sequence[tuple[Address, Address]]  # place and addend
    others: Sequence[tuple[Address, int, int]]  # place, type and symbol, addend
    is_changed: bool
    relative_type: int  # the machine's number of the relocation

    @property
    def size(self) -> int:
        """Return the size of the table in bytes."""
        return len(self.kept) * 8 + (len(self.relative) + len(self.others)) * RELA.size

    @property
    def relative_count(self) -> int:
        """Return DT_RELACOUNT, the number of relative relocations at the start of the table."""
        return self.kept_relative + len(self.relative)

    def content(self, value: Callable[[Address], int]) -> tuple[bytes, ...]:
        """Return the bytes of the relocation table: relative relocations come first."""
        end = self.kept_relative * WORDS
        rows = sorted((value(at), value(to)) for at, to in self.relative)
        added = b"".join(RELA.pack(at, self.relative_type, _signed(to)) for at, to in rows)
        others = ((value(at), info, addend) for at, info, addend in self.others)
        last = b"".join(RELA.pack(at, info, _signed(addend)) for at, info, addend in others)
        return _bytes(self.kept[:end]), added, _bytes(self.kept[end:]), last


def new_rows(file: LinkedFile, plan: Plan) -> Rows:
    """Return the relocations: drop those of removed words, and add those of new parts."""
    pointers = dict(plan.pointers)
    table = file.relocations
    own = file.own
    gone = [
        number
        for number, place in enumerate(table.places if own or pointers else ())
        if place in pointers or any(load.holds(place) for load in own)
    ]
    relative = [(Address(None, place), target) for place, target in pointers.items()]
    others: list[tuple[Address, int, int]] = []
    for part in plan.parts:
        bound = {binding.at for binding in part.bindings}
        relative += [
            (part.at(fixup.at), fixup.target)
            for fixup in (part.fixups if file.is_relocated else ())
            if fixup.instruction is None and fixup.at not in bound
        ]
        others += [(part.at(at), info, addend) for at, info, addend in part.bindings]
    count = table.count - sum(number < table.count for number in gone)
    is_changed = bool(gone or relative or others)
    kept, number = _without(table.words, gone), file.machine.relative
    return Rows(kept, count, relative, others, is_changed, number)


def _without(words: array[int], gone: Sequence[int]) -> array[int]:
    kept, start = array("Q"), 0
    for number in gone:
        kept += words[start * WORDS : number * WORDS]
        start = number + 1
    return kept + words[start * WORDS :] if gone else words


def new_table(file: LinkedFile, rows: Rows) -> Part | None:
    """Return the part for the table; None if it stays unchanged in its place."""
    table = file.relocations
    plt = file.dynamic.value(DT_JMPREL) if file.dynamic else None
    if rows.is_changed and plt is not None and table.address <= plt < table.address + table.size:
        raise UsageError("its relocations and those of its PLT share a table, which cannot move")
    goes = table.size and any(load.holds(table.address) for load in file.own)
    if not (rows.is_changed or goes):
        return None
    symbols = next((s.number for s in file.elf.of_type(SHT_DYNSYM)), 0)
    own = next((s for s in file.sections if s.address == table.address), None)
    return Part(
        "rest", ".rela.dyn", (Later(rows.size),), 8, SHT_RELA, SHF_ALLOC, RELA.size, symbols,
        takes=own if table.size and own and own.type == SHT_RELA else None,
    )  # fmt: skip


def tags(file: LinkedFile, rows: Rows, part: Part) -> list[Tag]:
    """Return the dynamic tags for the new relocations."""
    found = [Tag(DT_RELA, part.at(0)), Tag(DT_RELASZ, rows.size), Tag(DT_RELAENT, RELA.size)]
    if file.dynamic and file.dynamic.value(DT_RELACOUNT) is not None:
        found.append(Tag(DT_RELACOUNT, rows.relative_count))
    return found


def _bytes(words: array[int]) -> bytes:
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()


def _signed(value: int) -> int:
    value &= MASK
    return value - (1 << 64) if value >> 63 else value
