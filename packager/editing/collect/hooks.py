# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code that registers a descriptor when a finished file is loaded, and unregisters it at its end.

It takes the place of the first constructor and of the first destructor, which is the last to run,
and calls those. Nothing else would be called in every program: until glibc 2.34 the start code of
an executable walked its own array, whatever the dynamic table said.
"""

from __future__ import annotations

from typing import NamedTuple

from packager.editing.parts import Address, Binding, Fixup, Part
from packager.editing.surgery import Surgery
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
from packager.writers.elf_types import SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE

ALIGNMENT = 16
DISTANCE = bytes(4)  # of a reference, filled in when addresses are known
# endbr64; push rdi, rsi, rdx: a constructor is given main's arguments, and the next one gets them.
ENTER = bytes.fromhex("f30f1efa 57 56 52")
LEAVE = bytes.fromhex("5a 5e 5f")
# endbr64; sub rsp,8: a call needs the stack aligned.
ENTER_LAST = bytes.fromhex("f30f1efa 4883ec08")
LEAVE_LAST = bytes.fromhex("4883c408")
LOAD = bytes.fromhex("488d3d")  # lea rdi,[rip+…]
CALL_SLOT, JUMP_SLOT = bytes.fromhex("ff15"), bytes.fromhex("ff25")
CALL, JUMP, RETURN = b"\xe8", b"\xe9", b"\xc3"
# A function that the array had, at its address or by a slot that the loader fills in.
Function = int | Part


class Hook(NamedTuple):
    """A function of this file's first or last, and the array that it is in."""

    which: str
    kind: int
    tags: tuple[int, int]


FIRST = Hook("init", SHT_INIT_ARRAY, (DT_INIT_ARRAY, DT_INIT_ARRAYSZ))
LAST = Hook("fini", SHT_FINI_ARRAY, (DT_FINI_ARRAY, DT_FINI_ARRAYSZ))


class Code:
    """Code that is put together: its bytes, and its distances to what it refers to."""

    def __init__(self) -> None:
        self.content = b""
        self.fixups: list[Fixup] = []

    def add(self, code: bytes, target: Address | None = None) -> None:
        """Add an instruction or some, of which the last refers to `target`, if there is one."""
        self.content += code
        if target is not None:
            self.fixups.append(Fixup(len(self.content), target, is_distance=True))
            self.content += DISTANCE


def hook(surgery: Surgery, descriptor: Part, slots: Part) -> None:
    """Call what `slots` lead to, the first at the beginning and the second at the end."""
    first, last = _slot(surgery, FIRST), _slot(surgery, LAST)
    code = Code()
    _register(code, descriptor, slots.at(0), first)
    code.content += b"\xcc" * (-len(code.content) % ALIGNMENT)
    end = len(code.content)
    _unregister(code, descriptor, slots.at(WORD.size), last)
    part = Part(
        ".text.omptool", (code.content,), ALIGNMENT, flags=SHF_ALLOC | SHF_EXECINSTR,
        fixups=tuple(code.fixups),
    )  # fmt: skip
    surgery.code.parts.append(part)
    _lead(surgery, FIRST, part.at(0), is_named=isinstance(first, Part))
    _lead(surgery, LAST, part.at(end), is_named=isinstance(last, Part))


def _slot(surgery: Surgery, which: Hook) -> Function | None:
    """The function that is first in an array; None where there is no array."""
    table = surgery.file.dynamic
    address, size = (table.value(tag) if table else None for tag in which.tags)
    if not address or not size:
        return None
    where = f".{which.which}_array"
    if surgery.file.elf.offset(address, WORD.size) is None:
        raise FormatError(f"{where} at {address:#x} is not in the file")
    row = surgery.relocations.row(address)
    if row is not None and not surgery.relocations.is_relative(row):
        return _by_name(surgery, row, where)
    function = read_window(surgery.file.space, Range(address, WORD.size, where)).pointer(0)
    if not function:
        raise UsageError(f"the first function of its {where} has no address")
    return function


def _by_name(surgery: Surgery, row: int, where: str) -> Part:
    """A slot of ours, which gets the function that the loader finds by a symbol's name."""
    part = Part(
        f".got.omptool{where}", (bytes(WORD.size),), WORD.size, flags=SHF_ALLOC | SHF_WRITE,
        bindings=(Binding(0, *surgery.relocations.take(row)),),
    )  # fmt: skip
    surgery.fixed.parts.append(part)
    return part


def _lead(surgery: Surgery, which: Hook, code: Address, *, is_named: bool) -> None:
    """Have the first slot of an array lead to our code; there may be none yet."""
    table = surgery.file.dynamic
    address, size = (table.value(tag) if table else None for tag in which.tags)
    if address and size:
        if surgery.relocations.row(address) is None and is_named:
            surgery.relocations.add(Address(None, address), code)
        else:
            surgery.point(address, code)
        return
    part = Part(
        f".{which.which}_array", (bytes(WORD.size),), WORD.size, which.kind,
        SHF_ALLOC | SHF_WRITE, WORD.size, fixups=(Fixup(0, code),),
    )  # fmt: skip
    surgery.fixed.parts.append(part)
    surgery.tag(which.tags[0], part.at(0))
    surgery.tag(which.tags[1], WORD.size)


def _register(code: Code, descriptor: Part, slot: Address, following: Function | None) -> None:
    code.add(ENTER + LOAD, descriptor.at(0))
    code.add(CALL_SLOT, slot)
    code.add(LEAVE)
    if following is None:
        code.add(RETURN)
    else:
        _go(code, following, JUMP, JUMP_SLOT)


def _unregister(code: Code, descriptor: Part, slot: Address, before: Function | None) -> None:
    code.add(ENTER_LAST)
    if before is not None:
        _go(code, before, CALL, CALL_SLOT)
    code.add(LEAVE_LAST + LOAD, descriptor.at(0))
    code.add(JUMP_SLOT, slot)


def _go(code: Code, target: Function, near: bytes, by_slot: bytes) -> None:
    if isinstance(target, Part):
        code.add(by_slot, target.at(0))
    else:
        code.add(near, Address(None, target))
