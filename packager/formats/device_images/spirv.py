# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read SPIR-V modules (Khronos specification, 2.3 and 3).

Contents are the version, addressing, entry points, exported variables and imported names. Words of
32 bits in either byte order: magic, version, generator, bound, 0; then instructions, each beginning
with its number of words and its opcode.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack

from packager.errors import FormatError
from packager.files.names import text
from packager.files.reader import Reader
from packager.model import NO_LINKS, Contents, DeviceSymbol, Links
from packager.records import NamedTuple

MAGICS = {b"\x03\x02\x23\x07": "<", b"\x07\x23\x02\x03": ">"}
WORD = 4
HEADER = 5 * WORD
MEMORY_MODEL, ENTRY_POINT, CAPABILITY, FUNCTION = 14, 15, 17, 54
LINKAGE = 5  # the capability without which nothing is exported
# Opcodes that must follow entry points and their modes ("Logical Layout of a Module"): sources and
# names, decorations, types, constants and variables, functions.
LATER = frozenset((*range(2, 9), *range(19, 53), FUNCTION, 59, *range(71, 76), 330, 332))
LLVM_22 = 43 << 16 | 22  # generator of LLVM 22's back end
ENTRY_POINT_OF_OPENMP = "__kmpc_target_init"  # imported by clang's code until it is linked
KERNEL = 6  # the execution model of OpenCL's kernels
ADDRESSING = {0: "spirv", 1: "spirv32", 2: "spirv64"}
# Most instructions before LATER: only a hostile module has more.
MAX_INSTRUCTIONS = 1 << 16


class Instruction(NamedTuple):
    """An opcode, the words that follow it, and where the next instruction begins."""

    opcode: int
    operands: bytes
    end: int


def probe(data: Reader) -> bool:
    """Return whether `data` begins with SPIR-V's magic, in either byte order."""
    return len(data) >= WORD and data.bytes(0, WORD) in MAGICS


def inspect(data: Reader) -> Contents:
    """Return version (as the arch), addressing, kernels, variables and imported names.

    Raises FormatError for a malformed module.
    """
    order = MAGICS[data.bytes(0, WORD)]
    (version,) = unpack(f"{order}I", data.bytes(WORD, WORD, "SPIR-V header"))
    machine, kernels = "spirv", []
    exports, end = False, HEADER
    for instruction in _instructions(data, order):
        end = instruction.end
        if instruction.opcode == MEMORY_MODEL:
            (model,) = unpack(f"{order}I", instruction.operands[:WORD].ljust(WORD, b"\0"))
            machine = ADDRESSING.get(model, machine)
        elif instruction.opcode == ENTRY_POINT:
            name = _entry_point(instruction.operands, order)
            if name:
                kernels.append(DeviceSymbol(name, "kernel", 0, "kernel"))
        elif instruction.opcode == CAPABILITY:
            (capability,) = unpack(f"{order}I", instruction.operands[:WORD].ljust(WORD, b"\0"))
            exports = exports or capability == LINKAGE
    arch = f"SPIR-V {version >> 16 & 0xFF}.{version >> 8 & 0xFF}"
    variables: tuple[DeviceSymbol, ...] = ()
    links = NO_LINKS
    if exports and data.context.look.is_inside:
        from packager.formats.device_images.spirv_variables import linkage

        variables, imported = linkage(data, end, order, machine)
        links = Links(imported)
    symbols = (*kernels, *variables)
    found = Contents("spirv", machine, arch, symbols, tuple(kernels), links=links)
    (generator,) = unpack(f"{order}I", data.bytes(2 * WORD, WORD, "SPIR-V header"))
    is_clangs = ENTRY_POINT_OF_OPENMP in links.undefined
    return found._replace(is_miscompiled=True) if is_clangs and generator == LLVM_22 else found


def _instructions(data: Reader, order: str) -> Iterator[Instruction]:
    """Yield the instructions up to the first one that must follow all entry points."""
    at = HEADER
    for _ in range(MAX_INSTRUCTIONS):
        if at >= len(data):
            return
        (word,) = unpack(f"{order}I", data.bytes(at, WORD, "SPIR-V instruction"))
        size, opcode = (word >> 16) * WORD, word & 0xFFFF
        if not size:
            raise FormatError(f"SPIR-V instruction at {data.at + at:#x} has no words")
        if opcode in LATER:
            return
        operands = data.bytes(at + WORD, size - WORD, "SPIR-V instruction")
        at += size
        yield Instruction(opcode, operands, at)
    raise FormatError(f"SPIR-V module at {data.at:#x} has no types or functions for too long")


def _entry_point(operands: bytes, order: str) -> str | None:
    """Return a kernel's name, which follows execution model and id as words of characters."""
    if len(operands) < 2 * WORD:
        return None
    (model,) = unpack(f"{order}I", operands[:WORD])
    words = operands[2 * WORD :]
    if order == ">":  # strings are little endian within words
        words = b"".join(words[at : at + WORD][::-1] for at in range(0, len(words), WORD))
    return text(words.split(b"\0", 1)[0]) if model == KERNEL else None
