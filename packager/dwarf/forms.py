# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes and encodings of the attribute forms of debug information (DWARF 5, 7.5)."""

from __future__ import annotations

from packager.dwarf.cursor import Cursor
from packager.errors import FormatError
from packager.records import NamedTuple

# Sizes of forms with a fixed size.
FIXED = {
    0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8,
    0x19: 0, 0x1C: 4, 0x1E: 16, 0x20: 8, 0x21: 0, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4,
    0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}  # fmt: skip
# Forms of an offset into another section, 4 or 8 bytes.
OFFSETS = (0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21)
ADDRESS, REFERENCE = 0x01, 0x10
LEBS = (0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02)
# Forms of a byte string after its length: 1, 2 or 4 bytes, or a LEB128.
BLOCKS = {0x0A: 1, 0x03: 2, 0x04: 4}
LEB_BLOCKS = (0x09, 0x18)
STRING, INDIRECT, IMPLICIT = 0x08, 0x16, 0x21
STRP, LINE_STRP = 0x0E, 0x1F
STRX = (0x1A, 0x25, 0x26, 0x27, 0x28)


class Shape(NamedTuple):
    """The DWARF version of a unit, and the sizes of its addresses and offsets."""

    version: int
    address: int
    offset: int  # 4, or 8 in the 64-bit format


def fixed_size(form: int, shape: Shape) -> int | None:
    """Return the size of a form's value; None if the size varies."""
    if form in FIXED:
        return FIXED[form]
    if form in OFFSETS:
        return shape.offset
    if form == ADDRESS:
        return shape.address
    if form == REFERENCE:
        return shape.address if shape.version == 2 else shape.offset
    return None


def number(cursor: Cursor, form: int, shape: Shape) -> int:
    """Read the value of a form; skip a value that is not a number and return 0."""
    size = fixed_size(form, shape)
    if size is not None:
        return cursor.number(size)
    if form in LEBS:
        return cursor.leb()
    if form == STRING:
        cursor.string()
    elif form in BLOCKS:
        cursor.skip(cursor.number(BLOCKS[form]))
    elif form in LEB_BLOCKS:
        cursor.skip(cursor.leb())
    else:
        raise FormatError(f"debug information has values of the unknown form {form:#x}")
    return 0
