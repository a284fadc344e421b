# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code for x86-64: instructions by Intel's manual, relocations by the psABI."""

from __future__ import annotations

from packager.host_machines.machine import Code, Field, Instruction, Operand, Step

R_X86_64_PC32, R_X86_64_PLT32 = 2, 4
DISTANCE = 4  # bytes of a field, the last of its instruction
NEAR = 1 << 31


def _filled(code: bytes, place: int, target: int) -> bytes | None:
    """Return the instruction with the distance to `target`; None if it is out of reach."""
    distance = target - (place + len(code))
    if not -NEAR <= distance < NEAR:
        return None
    return code[:-DISTANCE] + distance.to_bytes(DISTANCE, "little", signed=True)


def _to(opcode: str, text: str, relocation: int = R_X86_64_PC32) -> Instruction:
    """Return an instruction that ends in a 32-bit distance."""
    code = bytes.fromhex(opcode)
    field = Field(len(code), relocation, -DISTANCE, _filled)
    return Instruction(code + bytes(DISTANCE), text, field)


def _plain(code: str, text: str) -> Instruction:
    return Instruction(bytes.fromhex(code), text)


TARGET = _plain("f30f1efa", "endbr64")
ADDRESS = _to("488d3d", "leaq {}(%rip), %rdi")
CALL, JUMP = _to("e8", "call {}"), _to("e9", "jmp {}@PLT", R_X86_64_PLT32)
CALL_SLOT, JUMP_SLOT = _to("ff15", "call *{}(%rip)"), _to("ff25", "jmp *{}(%rip)")
RETURN = _plain("c3", "ret")
SAVE = (_plain("57", "pushq %rdi"), _plain("56", "pushq %rsi"), _plain("52", "pushq %rdx"))
RESTORE = (_plain("5a", "popq %rdx"), _plain("5e", "popq %rsi"), _plain("5f", "popq %rdi"))
# A call needs the stack aligned.
ENTER, LEAVE = _plain("4883ec08", "subq $8, %rsp"), _plain("4883c408", "addq $8, %rsp")


def _number(value: int) -> Instruction:
    return Instruction(b"\xbf" + value.to_bytes(4, "little"), f"movl ${value}, %edi")


class X86Code(Code):
    """Code for x86-64."""

    fill = b"\xcc"

    def tail_call(self, argument: Operand | int, called: Operand) -> list[Step[Operand]]:
        """Return the steps of a function that calls another one; see Code.tail_call."""
        loaded: Step[Operand] = (
            (_number(argument), None) if isinstance(argument, int) else (ADDRESS, argument)
        )
        return [(TARGET, None), loaded, (JUMP, called)]

    def first(
        self, argument: Operand, slot: Operand, following: Operand | None, *, by_slot: bool
    ) -> list[Step[Operand]]:
        """Return the steps of a constructor; see Code.first."""
        steps: list[Step[Operand]] = [(TARGET, None), *((one, None) for one in SAVE)]
        steps += [(ADDRESS, argument), (CALL_SLOT, slot), *((one, None) for one in RESTORE)]
        if following is None:
            return [*steps, (RETURN, None)]
        return [*steps, (JUMP_SLOT if by_slot else JUMP, following)]

    def last(
        self, argument: Operand, slot: Operand, before: Operand | None, *, by_slot: bool
    ) -> list[Step[Operand]]:
        """Return the steps of a destructor; see Code.last."""
        steps: list[Step[Operand]] = [(TARGET, None)]
        if before is not None:
            called = CALL_SLOT if by_slot else CALL
            steps += [(ENTER, None), (called, before), (LEAVE, None)]
        return [*steps, (ADDRESS, argument), (JUMP_SLOT, slot)]
