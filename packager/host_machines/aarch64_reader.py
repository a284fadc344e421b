# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read code for AArch64, with the known values of its registers after each instruction.

Addresses are made by `adrp` and `add`, or `adr`, loaded by `adrp` and `ldr`, and put together by
`movz` and `movk`. Any other instruction makes the register unknown that it may write to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from packager.host_machines.machine import CodeReader
from packager.records import NamedTuple

WORD = 4
ZERO = 31  # zero or the stack pointer, so no general register
KEPT = range(19, 30)  # registers that a call leaves as they were
Kind = Literal["page", "address", "number", "load", "call"]


class _Known(NamedTuple):
    """The value that a register has after an instruction, or the effect of the instruction."""

    kind: Kind
    register: int
    value: int


class ArmReader(CodeReader):
    """Reads code for AArch64."""

    behind = 0  # distances count from the instruction

    def relative(self, code: bytes, start: int) -> Iterator[int]:
        """Yield the addresses that the code computes; see CodeReader.relative."""
        return (found.value for found in _Walk().steps(code, start) if found.kind == "address")

    def loads(self, code: bytes, start: int) -> Iterator[int]:
        """Yield the places of addresses that the code loads; see CodeReader.loads."""
        return (found.value for found in _Walk().steps(code, start) if found.kind == "load")

    def holds(self, code: bytes, address: int) -> bool:
        """Return whether code puts an address together."""
        return address in self.absolute(code)

    def absolute(self, code: bytes) -> set[int]:
        """Return the numbers that `movz` and `movk` put into registers."""
        return {found.value for found in _Walk().steps(code, 0) if found.kind == "number"}

    def argument(self, code: bytes, number: int) -> int | None:
        """Return the number in an argument's register at the first call; None if unknown."""
        walk = _Walk()
        for found in walk.steps(code, 0):
            if found.kind == "call":
                known = walk.registers.get(number)
                return known.value if known and known.kind == "number" else None
        return None


class _Walk:
    """The registers of which something is known."""

    def __init__(self) -> None:
        self.registers: dict[int, _Known] = {}

    def steps(self, code: bytes, start: int) -> Iterator[_Known]:
        """Yield the new value of each instruction, and calls before they change registers."""
        for at in range(0, len(code) - WORD + 1, WORD):
            word = int.from_bytes(code[at : at + WORD], "little")
            found = self._made(word, start + at)
            if found is not None:
                yield found
            self._apply(word, found)

    def _made(self, word: int, place: int) -> _Known | None:
        """Return the value that an instruction computes, or None if it is not modelled."""
        to, base = word & 31, word >> 5 & 31
        known = self.registers.get(base)
        if word & 0x1F000000 == 0x10000000:  # adr, adrp
            distance = _signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21)
            if word >> 31:
                return _Known("page", to, (place >> 12) + distance << 12)
            return _Known("address", to, place + distance)
        if word & 0xFF800000 == 0x91000000 and known and known.kind != "load":  # add, immediate
            more = (word >> 10 & 0xFFF) << (12 if word >> 22 & 1 else 0)
            return _Known("number" if known.kind == "number" else "address", to, known.value + more)
        if word & 0xFFC00000 == 0xF9400000 and known and known.kind in ("page", "address"):  # ldr
            return _Known("load", to, known.value + (word >> 10 & 0xFFF) * 8)
        if word & 0xFF000000 == 0x58000000:  # ldr from a place near by
            return _Known("load", to, place + 4 * _signed(word >> 5 & 0x7FFFF, 19))
        return self._number(word, to) or self._branch(word)

    def _number(self, word: int, to: int) -> _Known | None:
        """Model a move of a 16-bit, 32-bit or 64-bit number, or of a register."""
        shift = (word >> 21 & 3) * 16
        bits = (word >> 5 & 0xFFFF) << shift
        if word & 0x7F800000 == 0x52800000:  # movz
            return _Known("number", to, bits)
        if word & 0x7F800000 == 0x72800000:  # movk
            known = self.registers.get(to)
            if known and known.kind == "number":
                return _Known("number", to, known.value & ~(0xFFFF << shift) | bits)
        if word & 0x7FE0FFE0 == 0x2A0003E0:  # mov
            known = self.registers.get(word >> 16 & 31)
            if known and known.kind in ("number", "page"):
                return known._replace(register=to)
        return None

    def _branch(self, word: int) -> _Known | None:
        is_near = word & 0x7C000000 == 0x14000000  # b, bl
        is_far = word & 0xFFDFFC1F == 0xD61F0000  # br, blr
        return _Known("call", ZERO, 0) if is_near or is_far else None

    def _apply(self, word: int, found: _Known | None) -> None:
        if found is not None and found.kind == "call":
            comes_back = word >> 31 if word & 0x7C000000 == 0x14000000 else word >> 21 & 1
            kept = KEPT if comes_back else ()
            self.registers = {n: known for n, known in self.registers.items() if n in kept}
        elif word & 0xFFFFFC1F == 0xD65F0000:  # ret: another function begins
            self.registers.clear()
        elif found is not None and found.kind != "load" and found.register != ZERO:
            self.registers[found.register] = found
        elif not _is_store(word):
            self.registers.pop(word & 31, None)


def _is_store(word: int) -> bool:
    """Return whether an instruction stores registers, and so changes none."""
    if word & 0x0A000000 != 0x08000000:
        return False  # neither loads nor stores
    if word & 0x3A000000 == 0x28000000:  # pairs
        return not word >> 22 & 1
    return word & 0x3A000000 == 0x38000000 and not word >> 22 & 3


def _signed(value: int, bits: int) -> int:
    return value - (value >> bits - 1 << bits)
