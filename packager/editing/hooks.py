# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code that registers a descriptor when a finished file is loaded, and unregisters it at its end.

It takes the place of the first constructor and of the first destructor, which is the last to run,
and calls those. Nothing else would be called in every program: until glibc 2.34 the start code of
an executable walked its own array, whatever the dynamic table said.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from packager.editing.parts import Part
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
DISTANCE = Struct("<i")
NEAR = 1 << 31
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


def hook(surgery: Surgery, descriptor: Part, slots: Part) -> None:
    """Call what `slots` lead to, the first at the beginning and the second at the end."""
    first, last = _slot(surgery, FIRST), _slot(surgery, LAST)
    code = Part(
        ".text.omptool", 0, ALIGNMENT, lambda: [_code(code, descriptor, slots, first, last)],
        flags=SHF_ALLOC | SHF_EXECINSTR,
    )  # fmt: skip
    begin = _register(0, 0, 0, first)
    code.size = _padded(begin) + len(_unregister(0, 0, 0, last))
    surgery.code.parts.append(code)
    _lead(surgery, FIRST, code, 0, is_named=isinstance(first, Part))
    _lead(surgery, LAST, code, _padded(begin), is_named=isinstance(last, Part))


def _padded(code: bytes) -> int:
    return -(-len(code) // ALIGNMENT) * ALIGNMENT


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
        f".got.omptool{where}", WORD.size, WORD.size, lambda: [bytes(WORD.size)],
        flags=SHF_ALLOC | SHF_WRITE,
    )  # fmt: skip
    surgery.fixed.parts.append(part)
    surgery.relocations.move(row, lambda: part.address)
    return part


def _lead(surgery: Surgery, which: Hook, code: Part, inside: int, *, is_named: bool) -> None:
    """Have the first slot of an array lead to our code; there may be none yet."""
    table = surgery.file.dynamic
    address, size = (table.value(tag) if table else None for tag in which.tags)
    if address and size:
        if surgery.relocations.row(address) is None and is_named:
            surgery.relocations.add(lambda: (address, code.address + inside))
        else:
            surgery.point(address, lambda: code.address + inside)
        return
    part = Part(
        f".{which.which}_array", WORD.size, WORD.size,
        lambda: [WORD.pack(code.address + inside)], which.kind, SHF_ALLOC | SHF_WRITE, WORD.size,
    )  # fmt: skip
    surgery.fixed.parts.append(part)
    surgery.pointer(part, 0, lambda: code.address + inside)
    surgery.tags[which.tags[0]] = lambda: part.address
    surgery.tags[which.tags[1]] = lambda: WORD.size


def _code(
    code: Part, descriptor: Part, slots: Part, first: Function | None, last: Function | None
) -> bytes:
    begin = _register(code.address, descriptor.address, slots.address, first)
    begin = begin.ljust(_padded(begin), b"\xcc")
    end = code.address + len(begin)
    return begin + _unregister(end, descriptor.address, slots.address + WORD.size, last)


def _register(at: int, descriptor: int, slot: int, following: Function | None) -> bytes:
    code = ENTER
    code = _relative(code + LOAD, at, descriptor)
    code = _relative(code + CALL_SLOT, at, slot) + LEAVE
    return code + RETURN if following is None else _going_to(code, at, following, JUMP, JUMP_SLOT)


def _unregister(at: int, descriptor: int, slot: int, before: Function | None) -> bytes:
    code = ENTER_LAST
    if before is not None:
        code = _going_to(code, at, before, CALL, CALL_SLOT)
    code = _relative(code + LEAVE_LAST + LOAD, at, descriptor)
    return _relative(code + JUMP_SLOT, at, slot)


def _going_to(code: bytes, at: int, target: Function, near: bytes, by_slot: bytes) -> bytes:
    if isinstance(target, Part):
        return _relative(code + by_slot, at, target.address)
    return _relative(code + near, at, target)


def _relative(code: bytes, at: int, target: int) -> bytes:
    """Code at an address, with the distance from its end to another appended."""
    distance = target - (at + len(code) + DISTANCE.size)
    if not -NEAR <= distance < NEAR:
        raise UsageError("is so large that new code cannot reach what it refers to")
    return code + DISTANCE.pack(distance)
