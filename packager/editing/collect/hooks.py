# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code that registers a descriptor when a finished file is loaded, and unregisters it at its end.

The code replaces the first constructor and the first destructor (which runs last), and calls them.
An added constructor would not run in every program: until glibc 2.34 the start code of an
executable walked its own array and ignored the dynamic table.
"""

from __future__ import annotations

from collections.abc import Iterable

from packager.editing.collect.pointers import point
from packager.editing.linked import LinkedFile
from packager.editing.plan import Address, Binding, Fixup, Part, Plan, Pointer, Tag, joined
from packager.elf.address_space import read_window
from packager.elf.headers import (
    DT_FINI_ARRAY,
    DT_FINI_ARRAYSZ,
    DT_INIT_ARRAY,
    DT_INIT_ARRAYSZ,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    WORD,
)
from packager.elf.relocated import Range
from packager.errors import FormatError, UsageError
from packager.host_machines.machine import Step
from packager.records import NamedTuple
from packager.writers.elf_types import SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE

ALIGNMENT = 16
# A constructor or destructor of the file: its address, or a slot that the loader fills in.
Function = int | Part


class Hook(NamedTuple):
    """The new first or last function, and the array that lists it."""

    which: str
    kind: int
    tags: tuple[int, int]


FIRST = Hook("init", SHT_INIT_ARRAY, (DT_INIT_ARRAY, DT_INIT_ARRAYSZ))
LAST = Hook("fini", SHT_FINI_ARRAY, (DT_FINI_ARRAY, DT_FINI_ARRAYSZ))


def hook(file: LinkedFile, descriptor: Part, slots: Part) -> Plan:
    """Add calls of the functions in `slots`: the first at the start, the second at the end."""
    first, last = _slot(file, FIRST), _slot(file, LAST)
    code, machine, told = _Code(), file.machine.code, descriptor.at(0)
    code.add(machine.first(told, slots.at(0), _place(first), by_slot=isinstance(first, Part)))
    code.content += machine.fill * (-len(code.content) % ALIGNMENT)
    end = len(code.content)
    at_end = slots.at(WORD.size)
    code.add(machine.last(told, at_end, _place(last), by_slot=isinstance(last, Part)))
    part = Part(
        "code", ".text.omptool", (code.content,), ALIGNMENT, flags=SHF_ALLOC | SHF_EXECINSTR,
        fixups=tuple(code.fixups),
    )  # fmt: skip
    parts = (part, *(slot for slot in (first, last) if isinstance(slot, Part)))
    leads = [_lead(file, FIRST, part.at(0), first), _lead(file, LAST, part.at(end), last)]
    return joined([Plan(parts), *leads])


def _slot(file: LinkedFile, which: Hook) -> Function | None:
    """Return the function in the first slot of an array; None if there is no array."""
    address, size = _array(file, which)
    if not address or not size:
        return None
    where = f".{which.which}_array"
    if file.elf.offset(address, WORD.size) is None:
        raise FormatError(f"{where} at {address:#x} is not in the file")
    row = file.relocations.row(address)
    if row is not None and not file.relocations.is_relative(row):
        return _by_name(file, row, where)
    function = read_window(file.space, Range(address, WORD.size, where)).pointer(0)
    if not function:
        raise UsageError(f"the first function of its {where} has no address")
    return function


def _array(file: LinkedFile, which: Hook) -> tuple[int | None, int | None]:
    table = file.dynamic
    address, size = (table.value(tag) if table else None for tag in which.tags)
    return address, size


def _by_name(file: LinkedFile, row: int, where: str) -> Part:
    """Return a new slot that the dynamic loader binds to the symbol of relocation `row`."""
    rows = file.relocations
    return Part(
        "fixed", f".got.omptool{where}", (bytes(WORD.size),), WORD.size,
        flags=SHF_ALLOC | SHF_WRITE, bindings=(Binding(0, rows.info(row), rows.addend(row)),),
    )  # fmt: skip


def _lead(file: LinkedFile, which: Hook, code: Address, function: Function | None) -> Plan:
    """Point the first slot of an array to new code; add the array if there is none."""
    address, size = _array(file, which)
    if address and size:
        if isinstance(function, Part):  # addressed by its name, which the new slot has now
            return Plan(pointers=(Pointer(address, code),))
        return point(file, address, code)
    part = Part(
        "fixed", f".{which.which}_array", (bytes(WORD.size),), WORD.size, which.kind,
        SHF_ALLOC | SHF_WRITE, WORD.size, fixups=(Fixup(0, code),),
    )  # fmt: skip
    return Plan((part,), tags=(Tag(which.tags[0], part.at(0)), Tag(which.tags[1], WORD.size)))


class _Code:
    """New code: its bytes, and the operands of its instructions."""

    def __init__(self) -> None:
        self.content = b""
        self.fixups: list[Fixup] = []

    def add(self, steps: Iterable[Step[Address]]) -> None:
        """Add instructions."""
        for instruction, target in steps:
            if target is not None:
                self.fixups.append(Fixup(len(self.content), target, instruction))
            self.content += instruction.code


def _place(function: Function | None) -> Address | None:
    """Return the address of a function, or of its slot."""
    if isinstance(function, Part):
        return function.at(0)
    return None if function is None else Address(None, function)
