# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code for AArch64: instructions by Arm's manual, relocations by its ELF ABI."""

from __future__ import annotations

from collections.abc import Callable

from packager.host_machines.machine import Code, Field, Instruction, Operand, Step

R_AARCH64_ADR_PREL_PG_HI21, R_AARCH64_ADD_ABS_LO12_NC = 275, 277
R_AARCH64_JUMP26, R_AARCH64_CALL26, R_AARCH64_LDST64_ABS_LO12_NC = 282, 283, 286
WORD = 4
PAGE_BITS, LOW = 12, 0xFFF
PAGES, NEAR = 1 << 20, 1 << 27  # reach in either direction: pages of adrp, bytes of a branch
POINTER = 8


def _page(word: int, place: int, target: int) -> int | None:
    """Return ADRP with the page distance to `target`; None if it is out of reach.

    The instruction holds the low two bits apart from the others.
    """
    pages = (target >> PAGE_BITS) - (place >> PAGE_BITS)
    if not -PAGES <= pages < PAGES:
        return None
    return word | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5


def _added(word: int, _place: int, target: int) -> int | None:
    return word | (target & LOW) << 10


def _loaded(word: int, _place: int, target: int) -> int | None:
    """Return LDR with the page offset of `target`; None if the address is not aligned."""
    return None if target % POINTER else word | (target & LOW) // POINTER << 10


def _branch(word: int, place: int, target: int) -> int | None:
    distance = target - place
    if not -NEAR <= distance < NEAR or distance % WORD:
        return None
    return word | distance // WORD & 0x3FFFFFF


def _to(
    word: int, text: str, relocation: int, insert: Callable[[int, int, int], int | None]
) -> Instruction:
    """Return an instruction whose opcode bits include an address field that `insert` fills."""

    def filled(code: bytes, place: int, target: int) -> bytes | None:
        full = insert(int.from_bytes(code, "little"), place, target)
        return None if full is None else full.to_bytes(WORD, "little")

    return Instruction(word.to_bytes(WORD, "little"), text, Field(0, relocation, 0, filled))


def _plain(word: int, text: str) -> Instruction:
    return Instruction(word.to_bytes(WORD, "little"), text)


TARGET = _plain(0xD503245F, "hint #34")  # bti c, which old assemblers do not know
ADDRESS = (
    _to(0x90000000, "adrp x0, {}", R_AARCH64_ADR_PREL_PG_HI21, _page),
    _to(0x91000000, "add x0, x0, :lo12:{}", R_AARCH64_ADD_ABS_LO12_NC, _added),
)
# Calls and jumps use x16, from which a function that begins with bti c can be reached.
SLOT = (
    _to(0x90000010, "adrp x16, {}", R_AARCH64_ADR_PREL_PG_HI21, _page),
    _to(0xF9400210, "ldr x16, [x16, :lo12:{}]", R_AARCH64_LDST64_ABS_LO12_NC, _loaded),
)
CALL = _to(0x94000000, "bl {}", R_AARCH64_CALL26, _branch)
JUMP = _to(0x14000000, "b {}", R_AARCH64_JUMP26, _branch)
CALL_SLOT, JUMP_SLOT = _plain(0xD63F0200, "blr x16"), _plain(0xD61F0200, "br x16")
RETURN = _plain(0xD65F03C0, "ret")
SAVE = (
    _plain(0xA9BD7BFD, "stp x29, x30, [sp, #-48]!"),
    _plain(0x910003FD, "mov x29, sp"),
    _plain(0xA90107E0, "stp x0, x1, [sp, #16]"),
    _plain(0xF90013E2, "str x2, [sp, #32]"),
)
RESTORE = (
    _plain(0xA94107E0, "ldp x0, x1, [sp, #16]"),
    _plain(0xF94013E2, "ldr x2, [sp, #32]"),
    _plain(0xA8C37BFD, "ldp x29, x30, [sp], #48"),
)
ENTER = (_plain(0xA9BF7BFD, "stp x29, x30, [sp, #-16]!"), _plain(0x910003FD, "mov x29, sp"))
LEAVE = _plain(0xA8C17BFD, "ldp x29, x30, [sp], #16")


def _number(value: int) -> Instruction:
    return _plain(0xD2800000 | value << 5, f"mov x0, #{value}")


def _by(slot: Operand, branch: Instruction) -> list[Step[Operand]]:
    """Branch to the address in a slot."""
    return [*((one, slot) for one in SLOT), (branch, None)]


class ArmCode(Code):
    """Code for AArch64."""

    fill = b"\0"

    def tail_call(self, argument: Operand | int, called: Operand) -> list[Step[Operand]]:
        """Return the steps of a function that calls another one; see Code.tail_call."""
        loaded: list[Step[Operand]] = (
            [(_number(argument), None)]
            if isinstance(argument, int)
            else [(one, argument) for one in ADDRESS]
        )
        return [(TARGET, None), *loaded, (JUMP, called)]

    def first(
        self, argument: Operand, slot: Operand, following: Operand | None, *, by_slot: bool
    ) -> list[Step[Operand]]:
        """Return the steps of a constructor; see Code.first."""
        steps: list[Step[Operand]] = [(TARGET, None), *((one, None) for one in SAVE)]
        steps += [(one, argument) for one in ADDRESS]
        steps += [*_by(slot, CALL_SLOT), *((one, None) for one in RESTORE)]
        if following is None:
            return [*steps, (RETURN, None)]
        return [*steps, *(_by(following, JUMP_SLOT) if by_slot else [(JUMP, following)])]

    def last(
        self, argument: Operand, slot: Operand, before: Operand | None, *, by_slot: bool
    ) -> list[Step[Operand]]:
        """Return the steps of a destructor; see Code.last."""
        steps: list[Step[Operand]] = [(TARGET, None)]
        if before is not None:
            steps += [(one, None) for one in ENTER]
            steps += _by(before, CALL_SLOT) if by_slot else [(CALL, before)]
            steps.append((LEAVE, None))
        steps += [(one, argument) for one in ADDRESS]
        return [*steps, *_by(slot, JUMP_SLOT)]
