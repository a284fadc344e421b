# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the types of a bitcode module, as far as the sizes of variables need them."""

from __future__ import annotations

from dataclasses import dataclass, field

from packager.errors import FormatError
from packager.formats.device_images.bitcode.bitstream import Block, Record, Stream, items
from packager.records import NamedTuple

NUMBER_OF, NAME_OF_STRUCT = 1, 19  # records that are no types
FLOAT, DOUBLE, INTEGER, POINTER, HALF, ARRAY = 3, 4, 7, 8, 10, 11
STRUCT, NAMED_STRUCT, FUNCTION, OPAQUE_POINTER = 18, 20, 21, 25
# Alignment of integers by size, the same on every target.
INTEGERS = {8: 1, 16: 2, 32: 4, 64: 8}
SCALARS = {HALF: 2, FLOAT: 4, DOUBLE: 8}
POINTER_SIZE = 8
GENERIC_SPACES = (0, 1)  # address spaces whose pointers have 64 bits on all targets
MAX_TYPES = 1 << 18
MAX_SIZE = 1 << 40


class Extent(NamedTuple):
    """Size and alignment; a size of 0 is unknown."""

    size: int
    alignment: int = 1


UNKNOWN = Extent(0)


@dataclass
class Types:
    """The types of a module by their numbers."""

    extents: list[Extent] = field(default_factory=list)
    functions: set[int] = field(default_factory=set)

    def size(self, number: int) -> int:
        """Return the size of a variable of this type; 0 if it depends on the target."""
        return self._extent(number).size

    def is_function(self, number: int) -> bool:
        """Return whether a type is a function's."""
        return number in self.functions

    def add(self, record: Record) -> None:
        """Append the type of a record."""
        if record.code == FUNCTION:
            self.functions.add(len(self.extents))
        self.extents.append(self._of(record.code, record.operands))

    def _extent(self, number: int) -> Extent:
        return self.extents[number] if number < len(self.extents) else UNKNOWN

    def _of(self, code: int, fields: list[int]) -> Extent:
        if code in SCALARS:
            return Extent(SCALARS[code], SCALARS[code])
        if code == INTEGER and fields and fields[0] in INTEGERS:
            return Extent(INTEGERS[fields[0]], INTEGERS[fields[0]])
        if code == OPAQUE_POINTER and fields and fields[0] in GENERIC_SPACES:
            return Extent(POINTER_SIZE, POINTER_SIZE)
        if code == POINTER and len(fields) > 1 and fields[1] in GENERIC_SPACES:
            return Extent(POINTER_SIZE, POINTER_SIZE)
        if code == ARRAY and len(fields) > 1:
            element = self._extent(fields[1])
            return _limited(element.size * fields[0], element.alignment)
        if code in (STRUCT, NAMED_STRUCT) and len(fields) > 1:
            return self._struct(fields[1:], is_packed=bool(fields[0]))
        return UNKNOWN

    def _struct(self, members: list[int], *, is_packed: bool) -> Extent:
        size, widest = 0, 1
        for number in members:
            member = self._extent(number)
            if not member.size:
                return UNKNOWN
            alignment = 1 if is_packed else member.alignment
            size = _aligned(size, alignment) + member.size
            widest = max(widest, alignment)
        return _limited(_aligned(size, widest), widest)


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _limited(size: int, alignment: int) -> Extent:
    return Extent(size, alignment) if size <= MAX_SIZE else UNKNOWN


def read(stream: Stream, block: Block) -> Types:
    """Read the types of a block. Raises FormatError if it is malformed."""
    types = Types()
    for record in items(stream, block):
        if isinstance(record, Record) and record.code not in (NUMBER_OF, NAME_OF_STRUCT):
            types.add(record)
            if len(types.extents) > MAX_TYPES:
                raise FormatError(f"bitcode has more than {MAX_TYPES} types")
    return types
