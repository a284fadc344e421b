# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read x86-64 code: the few instructions with which constructors load a descriptor's address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from packager.host_machines.machine import CodeReader
from packager.patterns import pattern

# lea reg,[rip+disp32]: the opcode, and the ModR/M bits of this address (Intel SDM, table 2-2).
LEA = b"\x8d"
# mov reg,[rip+disp32], as position-independent code loads an address from the GOT.
LOAD = b"\x8b"
MODRM_MASK, RIP_RELATIVE = 0xC7, 0x05
# mov reg,imm32, as position-dependent code loads addresses.
IMMEDIATE = pattern(rb"(?=(?:[\xb8-\xbf]|\xc7[\xc0-\xc7])(.{4}))", re.DOTALL)
# movabs reg,imm64: in the medium and large code models, distances from the GOT, and to it.
MOVABS = pattern(rb"(?=[\x48\x49][\xb8-\xbf](.{8}))", re.DOTALL)
MOVE_TO = (b"\xbf", b"\xbe", b"\xba")  # mov edi, esi or edx: in front of the four bytes of a number
MOST = 0xFFFF  # largest constant: addresses are larger


class X86Reader(CodeReader):
    """Reads code for x86-64."""

    behind = 4  # the field is the last of its instruction

    def relative(self, code: bytes, start: int) -> Iterator[int]:
        """Yield the addresses that the code computes; see CodeReader.relative."""
        near = list(_rip_relative(code, start, LEA))
        yield from near
        far = [int.from_bytes(m[1], "little", signed=True) for m in MOVABS.finditer(code)]
        for at in near if far else ():
            yield from (at + distance for distance in far)
            yield from (at + sum(distances) for distances in combinations(far, 2))

    def loads(self, code: bytes, start: int) -> Iterator[int]:
        """Yield the places of addresses that the code loads; see CodeReader.loads."""
        return _rip_relative(code, start, LOAD)

    def holds(self, code: bytes, address: int) -> bool:
        """Return whether four bytes of code are an address."""
        return 0 <= address < 1 << 32 and address.to_bytes(4, "little") in code

    def absolute(self, code: bytes) -> Iterator[int]:
        """Yield the operands of `mov reg,imm32`."""
        return (int.from_bytes(m[1], "little") for m in IMMEDIATE.finditer(code))

    def argument(self, code: bytes, number: int) -> int | None:
        """Return the first constant moved to an argument's register that is not an address."""
        opcode = MOVE_TO[number]
        at = code.find(opcode)
        while 0 <= at <= len(code) - 5:
            value = int.from_bytes(code[at + 1 : at + 5], "little")
            if value <= MOST:
                return value
            at = code.find(opcode, at + 1)
        return None


def _rip_relative(code: bytes, start: int, opcode: bytes) -> Iterator[int]:
    """Yield the targets of `lea reg,[rip+disp32]`, or another opcode, in code at `start`."""
    at = code.find(opcode)
    while 0 <= at < len(code) - 5:
        if code[at + 1] & MODRM_MASK == RIP_RELATIVE:
            distance = int.from_bytes(code[at + 2 : at + 6], "little", signed=True)
            yield start + at + 6 + distance  # relative to the end of the instruction
        at = code.find(opcode, at + 1)
