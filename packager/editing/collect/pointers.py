# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Change pointers of the file to new targets."""

from __future__ import annotations

from packager.editing.linked import LinkedFile
from packager.editing.plan import Address, Patch, Plan, Pointer
from packager.elf.headers import WORD
from packager.errors import FormatError, UsageError


def can_point(file: LinkedFile, place: int) -> bool:
    """Return whether the pointer at address `place` stays there and is bound to no name."""
    if file.elf.offset(place, WORD.size) is None:
        return False
    row = file.relocations.row(place)
    is_bound = row is not None and not file.relocations.is_relative(row)
    return not (is_bound or any(s.holds(place) for s in file.own))


def point(file: LinkedFile, place: int, target: Address) -> Plan:
    """Point the pointer at address `place` to another address."""
    offset = file.elf.offset(place, WORD.size)
    if offset is None:
        raise FormatError(f"the pointer at {place:#x} is not in the file")
    row = file.relocations.row(place)
    if row is None:
        return Plan(patches=(Patch(offset, target),))
    if not file.relocations.is_relative(row):
        raise UsageError(f"the pointer at {place:#x} is bound by a symbol's name")
    (word,) = file.data.unpack(WORD, offset, "pointer")
    # Linkers may store the addend in the relocation and in the word.
    is_twice = word and word == file.relocations.addend(row)
    patches = (Patch(offset, target),) if is_twice else ()
    return Plan(patches=patches, pointers=(Pointer(place, target),))
