# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the functions that register a descriptor with a runtime, and arrays of them.

Each function is a tail call in the host machine's code.
"""

from __future__ import annotations

from packager.elf.headers import SHT_FINI_ARRAY, SHT_INIT_ARRAY, SHT_PROGBITS, STT_FUNC
from packager.host_machines.machine import Code, HostMachine
from packager.layouts import WrittenAbi
from packager.records import NamedTuple
from packager.writers.elf_types import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    Relocation,
    Section,
    Symbol,
)

DESCRIPTOR = ".omptool.descriptor"
AT_EXIT_FUNCTION = ".omp_offloading.descriptor_atexit"
REQUIRES_FUNCTION = ".omp_offloading.requires_reg"
NOTHING_REQUIRED = 1  # LLVM's OMP_REQ_NONE
REQUIRES_PRIORITY = 0
POINTER = 8
CODE_ALIGNMENT = 16


class Function(NamedTuple):
    """One that calls another with one argument: the address of a symbol, or a number."""

    name: str
    argument: str | int
    called: str


class Array(NamedTuple):
    """Functions that the loader calls at the beginning or the end, in this order."""

    which: str  # init or fini
    priority: int
    functions: tuple[str, ...]


def functions(abi: WrittenAbi, *, says_requires: bool) -> list[Function]:
    """Return the functions of a wrapper."""
    register, unregister = abi.functions
    found = [
        Function(register, DESCRIPTOR, abi.register),
        Function(unregister, DESCRIPTOR, abi.unregister),
    ]
    if abi.at_exit:
        found.append(Function(AT_EXIT_FUNCTION, unregister, "atexit"))
    if abi.requires and says_requires:
        found.append(Function(REQUIRES_FUNCTION, NOTHING_REQUIRED, abi.requires))
    return found


def referred(symbol: str) -> str:
    """Return the name by which assembly refers to a versioned symbol; `.symver` ties them."""
    name, _, version = symbol.partition("@")
    return f"omptool{name}" if version else symbol


def arrays(abi: WrittenAbi, *, says_requires: bool) -> list[Array]:
    """Return the arrays that call the functions.

    The documents' have priority 0: they register before the host's first constructor, and
    unregister after its last destructor (DECISIONS 9). LLVM's have each generation's priorities.
    """
    register, unregister = abi.functions
    if abi.at_exit:
        return [Array("init", abi.priority, (register, AT_EXIT_FUNCTION))]
    found = [
        Array("init", abi.priority, (register,)),
        Array("fini", abi.priority, (unregister,)),
    ]
    if abi.requires and says_requires:
        found.append(Array("init", REQUIRES_PRIORITY, (REQUIRES_FUNCTION,)))
    return found


def registration(
    abi: WrittenAbi, machine: HostMachine, *, says_requires: bool
) -> list[tuple[Section, list[Symbol]]]:
    """Return the sections of the functions and arrays, each with its symbols."""
    parts = [_code(functions(abi, says_requires=says_requires), machine.code)]
    parts += [(_array(array), []) for array in arrays(abi, says_requires=says_requires)]
    return parts


def _code(wanted: list[Function], machine: Code) -> tuple[Section, list[Symbol]]:
    content = b""
    relocations: list[Relocation] = []
    symbols = []
    for function in wanted:
        at = len(content)
        for instruction, symbol in machine.tail_call(function.argument, function.called):
            if instruction.field and symbol is not None:
                place, field = len(content) + instruction.field.at, instruction.field
                relocations.append(Relocation(place, symbol, field.relocation, field.addend))
            content += instruction.code
        symbols.append(Symbol(function.name, None, at, len(content) - at, STT_FUNC))
        content += machine.fill * (-len(content) % CODE_ALIGNMENT)
    flags = SHF_ALLOC | SHF_EXECINSTR
    code = Section(
        ".text.omptool", SHT_PROGBITS, flags, CODE_ALIGNMENT, (content,), tuple(relocations)
    )
    return code, symbols


def _array(array: Array) -> Section:
    kind = SHT_INIT_ARRAY if array.which == "init" else SHT_FINI_ARRAY
    listed = tuple(Relocation(n * POINTER, name) for n, name in enumerate(array.functions))
    return Section(
        f".{array.which}_array.{array.priority:05}",
        kind,
        SHF_ALLOC | SHF_WRITE,
        POINTER,
        (bytes(len(listed) * POINTER),),
        listed,
        POINTER,
    )
