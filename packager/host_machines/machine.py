# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A machine that hosts run on: its numbers in ELF files, and its code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import TypeVar

from packager.records import NamedTuple

Operand = TypeVar("Operand")
NOTE = Struct("<III4sIIII")
PROPERTIES = 5  # NT_GNU_PROPERTY_TYPE_0


class Field(NamedTuple):
    """Address field of an instruction, with its relocation for code that is not linked yet."""

    at: int  # offset in the instruction
    relocation: int
    addend: int
    # Return the instruction at a place with an address filled in; None where it is out of reach.
    filled: Callable[[bytes, int, int], bytes | None]


class Instruction(NamedTuple):
    """An instruction: its bytes, and its assembly text with {} for the operand."""

    code: bytes
    text: str
    field: Field | None = None


# An instruction with the operand that its field refers to.
Step = tuple[Instruction, Operand | None]


class Code(ABC):
    """The code that is written for a machine. Operands are symbols, or addresses."""

    fill: bytes  # one byte, between functions

    @abstractmethod
    def tail_call(self, argument: Operand | int, called: Operand) -> list[Step[Operand]]:
        """Return a function that passes an address, or a number below 65536, to another function.

        It has no frame: it needs no unwind information, and the stack stays aligned.
        """

    @abstractmethod
    def first(
        self, argument: Operand, slot: Operand, following: Operand | None, *, by_slot: bool
    ) -> list[Step[Operand]]:
        """Return a constructor that calls the function in `slot` with an address, then `following`.

        `following` receives the constructor's own arguments. With `by_slot` it is a slot, too.
        """

    @abstractmethod
    def last(
        self, argument: Operand, slot: Operand, before: Operand | None, *, by_slot: bool
    ) -> list[Step[Operand]]:
        """Return a destructor that calls `before`, then the function in `slot` with an address."""


class CodeReader(ABC):
    """Reads machine code as far as the arguments of constructors' calls require."""

    behind: int  # bytes from a relative field of an object to where its distance counts from

    @abstractmethod
    def relative(self, code: bytes, start: int) -> Iterator[int]:
        """Yield the addresses that position-independent code at `start` may compute."""

    @abstractmethod
    def loads(self, code: bytes, start: int) -> Iterator[int]:
        """Yield the places from which code at `start` loads addresses."""

    @abstractmethod
    def holds(self, code: bytes, address: int) -> bool:
        """Return whether position-dependent code has an address in it."""

    @abstractmethod
    def absolute(self, code: bytes) -> Iterable[int]:
        """Return the numbers that position-dependent code may use as addresses."""

    @abstractmethod
    def argument(self, code: bytes, number: int) -> int | None:
        """Return the constant that code passes as argument `number` (0, 1, …) of its first call.

        Return None if it passes none that the reader recognises.
        """


class HostMachine(NamedTuple):
    """A machine whose host files omptool writes."""

    name: str  # name in packager.elf
    number: int  # e_machine
    triple: str
    # Relocations: a pointer to a symbol, such a pointer in the GOT, and a pointer into the file's
    # own memory.
    absolute: int
    slot: int
    relative: int
    page: int  # the largest that kernels have
    most: int  # bytes of address space that a process has
    image_flags: int  # flags of sections that must not come between code and data
    property_type: int  # the GNU property of code features
    features: int  # features of `code`: branch tracking, and shadow stacks or signed returns
    code: Code
    reader: CodeReader

    @property
    def note(self) -> bytes:
        """Return the content of .note.gnu.property: the features that `code` supports."""
        return NOTE.pack(4, 16, PROPERTIES, b"GNU\0", self.property_type, 4, self.features, 0)
