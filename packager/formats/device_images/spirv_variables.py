# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The variables that a SPIR-V module exports, which OpenCL finds by name, and its imports.

Such a variable is in the memory of the device (CrossWorkgroup), and its decoration
LinkageAttributes says Export. Its size follows from its type, where that holds no structure. A
name that the decoration calls Import is for another module to define.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import unpack, unpack_from

from packager.errors import FormatError
from packager.files.names import text
from packager.files.reader import Reader
from packager.model import DeviceSymbol

WORD = 4
WINDOW = 1 << 16
TYPE_INT, TYPE_FLOAT, TYPE_VECTOR, TYPE_ARRAY, TYPE_POINTER = 21, 22, 23, 28, 32
CONSTANT, FUNCTION, VARIABLE, DECORATE = 43, 54, 59, 71
# Least number of operands, by opcode.
LEAST = {
    TYPE_INT: 3, TYPE_FLOAT: 2, TYPE_VECTOR: 3, TYPE_ARRAY: 3, TYPE_POINTER: 3, CONSTANT: 3,
    VARIABLE: 3, DECORATE: 4,
}  # fmt: skip
CROSS_WORKGROUP, LINKAGE_ATTRIBUTES, EXPORT, IMPORT = 5, 41, 0, 1
POINTER_SIZES = {"spirv32": 4, "spirv64": 8}
# Most instructions before the functions: only a hostile module has more.
MAX_INSTRUCTIONS = 1 << 22


@dataclass
class _Found:
    """The types, constants and variables read so far, by their numbers in the module."""

    pointer: int  # bytes
    sizes: dict[int, int] = field(default_factory=dict)  # known sizes of types
    pointees: dict[int, int] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)
    exported: dict[int, str] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)
    variables: dict[int, int] = field(default_factory=dict)  # the types of pointers to them


def linkage(
    data: Reader, start: int, order: str, machine: str
) -> tuple[tuple[DeviceSymbol, ...], tuple[str, ...]]:
    """Return the variables that the module in `data` exports, and the names that it imports.

    Its entry points end at `start`. Raises FormatError for a malformed module.
    """
    found = _Found(POINTER_SIZES.get(machine, 0))
    for opcode, at, size in _instructions(data, start, order):
        least = LEAST.get(opcode)
        if least is not None and size > least * WORD:
            _note(opcode, data.bytes(at + WORD, size - WORD, "SPIR-V instruction"), order, found)
    return tuple(_variables(found)), tuple(sorted(filter(None, found.imported)))


def _variables(found: _Found) -> Iterator[DeviceSymbol]:
    for number, pointer in found.variables.items():
        if name := found.exported.get(number):
            size = found.sizes.get(found.pointees.get(pointer, 0), 0)
            yield DeviceSymbol(name, "global", size, "global", size)


def _instructions(data: Reader, start: int, order: str) -> Iterator[tuple[int, int, int]]:
    """Yield opcode, place and bytes of each instruction in front of the functions."""
    at, window, window_at = start, b"", start
    for _ in range(MAX_INSTRUCTIONS):
        if at >= len(data):
            return
        if at + WORD > window_at + len(window):
            size = min(WINDOW, max(WORD, len(data) - at))
            window, window_at = data.bytes(at, size, "SPIR-V instruction"), at
        (word,) = unpack_from(f"{order}I", window, at - window_at)
        size, opcode = (word >> 16) * WORD, word & 0xFFFF
        if opcode == FUNCTION:
            return
        if not size:
            raise FormatError(f"SPIR-V instruction at {data.at + at:#x} has no words")
        data.slice(at, size, "SPIR-V instruction")
        yield opcode, at, size
        at += size
    raise FormatError(f"SPIR-V module at {data.at:#x} has no functions for too long")


def _note(opcode: int, operands: bytes, order: str, found: _Found) -> None:
    words = unpack(f"{order}{len(operands) // WORD}I", operands)
    if opcode == DECORATE:
        if words[1] == LINKAGE_ATTRIBUTES and words[-1] == EXPORT:
            found.exported[words[0]] = _string(words[2:-1])
        elif words[1] == LINKAGE_ATTRIBUTES and words[-1] == IMPORT:
            found.imported.append(_string(words[2:-1]))
    elif opcode == VARIABLE:
        if words[2] == CROSS_WORKGROUP:
            found.variables[words[1]] = words[0]
    elif opcode == CONSTANT:
        found.constants[words[1]] = sum(word << 32 * n for n, word in enumerate(words[2:4]))
    elif opcode == TYPE_POINTER:
        found.pointees[words[0]] = words[2]
        found.sizes[words[0]] = found.pointer
    elif opcode in (TYPE_INT, TYPE_FLOAT):
        found.sizes[words[0]] = words[1] // 8
    else:
        _note_sequence(opcode, words, found)


def _note_sequence(opcode: int, words: tuple[int, ...], found: _Found) -> None:
    count = words[2] if opcode == TYPE_VECTOR else found.constants.get(words[2], 0)
    if opcode == TYPE_VECTOR and count == 3:  # a vector of three has the size of four
        count = 4
    size = found.sizes.get(words[1], 0) * count
    if size:
        found.sizes[words[0]] = size


def _string(words: tuple[int, ...]) -> str:
    """Return a literal of whole words, the lowest byte first, in either byte order."""
    return text(b"".join(word.to_bytes(WORD, "little") for word in words).split(b"\0", 1)[0])
