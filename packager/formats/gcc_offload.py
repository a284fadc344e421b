"""What GCC's offloading leaves in a linked program (libgomp's GOMP_offload_register_ver).

`.gnu.offload_funcs` holds the addresses of the host's functions, `.gnu.offload_vars` addresses and
sizes of variables. A constructor registers a table of their bounds, `__OFFLOAD_TABLE__`, with the
data of one kind of device; for nvptx that are PTX modules, which the driver links, and the names
that functions and variables have there, in the order of the host's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from packager.elf import WORD, Elf, Section
from packager.errors import FormatError, LimitError
from packager.formats import descriptors
from packager.memory import Space
from packager.windows import Range, Window

NAME = "gcc"
FUNCTIONS, VARIABLES = ".gnu.offload_funcs", ".gnu.offload_vars"
# Intermediate code, which is in objects only.
VARIABLE = Struct("<QQ")
LINK_BIT = 1 << 63  # of a variable's size: `declare target link`
TABLE_SIZE = 4 * WORD.size  # the bounds of the functions and of the variables
# target_data of nvptx: modules, variables, functions, each a pointer and a count in 16 bytes; since
# GCC 13 behind a word with the mask of requires.
PARTS = 3
PART = 16
STARTS = (0, WORD.size)
MODULE = Struct("<QQ")  # text, size
FUNCTION_SIZE = 16  # name, and three 16-bit dimensions
MAX_COUNT = 1 << 16
MAX_REGISTRATIONS = 16  # one for each kind of device; each is read by itself
TRIPLE = "nvptx-none"
# The kind of device in a constructor's code, which is short.
NVPTX = 5
CODE = 48
_KIND = re.compile(rb"\xba([\x05-\x08])\0\0\0")


class Module(NamedTuple):
    """PTX text, in addresses of its Space."""

    start: int
    size: int


class Registration(NamedTuple):
    """What a constructor registers."""

    table: int  # address of __OFFLOAD_TABLE__
    constructor: str
    modules: tuple[Module, ...]
    functions: tuple[str, ...]  # their names on the device, in the host's order
    variables: tuple[str, ...]
    fault: str | None = None  # why nothing of it could be read
    unread: str | None = None  # a kind of device whose data are not read


class Found(NamedTuple):
    """What GCC has put into a file."""

    functions: Section | None
    function_addresses: tuple[int, ...]
    variables: Section | None
    variable_records: tuple[tuple[int, int], ...]  # address, size with LINK_BIT
    registrations: tuple[Registration, ...]


def claims(elf: Elf) -> bool:
    """Whether a linked file has GCC's tables."""
    return not elf.is_object and any(s.name in (FUNCTIONS, VARIABLES) for s in elf.sections)


def find(space: Space) -> Found:
    """GCC's tables and what registers them. Raises FormatError when a table is malformed."""
    by_name = {section.name: section for section in space.elf.sections}
    functions, variables = by_name.get(FUNCTIONS), by_name.get(VARIABLES)
    addresses = [
        _pointer(window, at)
        for window in (_table(space, functions) if functions else ())
        for at in _steps(window, WORD.size)
    ]
    records = [
        (_pointer(window, at), window.word(at + WORD.size))
        for window in (_table(space, variables) if variables else ())
        for at in _steps(window, VARIABLE.size)
    ]
    registered = tuple(_registrations(space, functions, variables))
    return Found(functions, tuple(addresses), variables, tuple(records), registered)


def _table(space: Space, section: Section) -> list[Window]:
    return space.windows([Range(section.address, section.size, f"section {section.name}")])


def _steps(window: Window, size: int) -> range:
    return range(0, len(window.data) - size + 1, size)


def _pointer(window: Window, at: int) -> int:
    return window.pointer(at) or 0


def _registrations(
    space: Space, functions: Section | None, variables: Section | None
) -> list[Registration]:
    """Constructors that refer to a table of these bounds; what else they refer to is the data."""
    slots = descriptors.constructors(space)
    referred = {function: sorted(space.targets(function)) for function in sorted(slots)}
    real = _real_tables(
        space, {at for targets in referred.values() for at in targets}, functions, variables
    )
    found: dict[int, Registration] = {}
    names = space.symbol_names(set(slots))
    # The beginning of a short function is followed by that of the next: the last one refers.
    for function, targets in referred.items():
        slot = slots[function]
        tables = [at for at in targets if at in real]
        if not tables:
            continue
        if len(found) > MAX_REGISTRATIONS:
            raise FormatError(f"more than {MAX_REGISTRATIONS} registrations of GCC's offload data")
        name = names.get(function, f".init_array[{slot}]")
        data = [at for at in targets if at not in real]
        found[tables[0]] = _registration(space, function, tables[0], name, data)
    return list(found.values())


def _registration(
    space: Space, function: int, table: int, name: str, candidates: Sequence[int]
) -> Registration:
    """What a constructor registers with a table, if that is data of nvptx as a whole."""
    kind = _device_kind(space, function)
    if kind not in (None, NVPTX):
        what = f"data of a device of kind {kind}, for libgomp, which this version does not read"
        return Registration(table, name, (), (), (), unread=what)
    fault = "GCC's data of a device is not in the file"
    for at in candidates:
        for start in STARTS:
            try:
                return Registration(table, name, *_data(space, at + start))
            except LimitError:
                raise
            except FormatError as error:
                fault = fault if start else f"GCC's data of a device at {at:#x}: {error}"
    return Registration(table, name, (), (), (), fault)


def _device_kind(space: Space, function: int) -> int | None:
    """The kind that a constructor tells libgomp, in its third argument; None if that is not seen.

    `mov edx, 5` in x86-64's code; the address of a string may hold the same byte, but no such word.
    """
    if space.offset(function, CODE) is None or space.elf.machine != "x86_64":
        return None
    code = space.elf.data.bytes(space.offset(function) or 0, CODE, "constructor")
    found = _KIND.search(code)
    return found[1][0] if found else None


def _real_tables(
    space: Space, addresses: set[int], functions: Section | None, variables: Section | None
) -> set[int]:
    """The addresses where a table is; all are read in one go, as relocating takes time."""
    ranges = [
        Range(address, TABLE_SIZE, "GCC's offload data")
        for address in sorted(addresses)
        if space.offset(address, TABLE_SIZE) is not None
    ]
    windows = space.windows(ranges)
    return {w.address for w in windows if _is_table(w, functions, variables)}


def _is_table(window: Window, functions: Section | None, variables: Section | None) -> bool:
    """Whether the bounds of both sections are there."""
    found = [_pointer(window, at) for at in _steps(window, WORD.size)]
    return all(
        found[at : at + 2] == [section.address, section.address + section.size]
        for at, section in ((0, functions), (2, variables))
        if section
    )


def _window(space: Space, address: int, size: int, what: str) -> Window:
    if size > MAX_COUNT * PART or space.offset(address, size) is None:
        raise FormatError(f"{what} at {address:#x} is not in the file")
    return space.windows([Range(address, size, "GCC's offload data")])[0]


Data = tuple[tuple[Module, ...], tuple[str, ...], tuple[str, ...]]


def _data(space: Space, address: int) -> Data:
    """The target_data of nvptx at `address`. Raises FormatError if something else is there."""
    window = _window(space, address, PARTS * PART, "it")
    parts = [(_pointer(window, at), window.half(at + WORD.size)) for at in _steps(window, PART)]
    (modules, count), (variables, named), (functions, called) = parts
    if not count:
        raise FormatError("it has no modules")
    texts = _modules(space, modules, count)
    kernels = _names(space, functions, called, FUNCTION_SIZE, "functions")
    return texts, kernels, _names(space, variables, named, WORD.size, "variables")


def _modules(space: Space, address: int, count: int) -> tuple[Module, ...]:
    window = _window(space, address, count * MODULE.size, f"its list of {count} modules")
    found = []
    for number, at in enumerate(_steps(window, MODULE.size)):
        module = Module(_pointer(window, at), window.word(at + WORD.size))
        if not module.start or space.offset(module.start, module.size) is None:
            where = f"module {number} of {module.size} bytes at {module.start:#x}"
            raise FormatError(f"{where} is not in the file")
        found.append(module)
    return tuple(found)


def _names(space: Space, address: int, count: int, step: int, what: str) -> tuple[str, ...]:
    if not count:
        return ()
    window = _window(space, address, count * step, f"its list of {count} {what}")
    names = []
    for number, at in enumerate(_steps(window, step)):
        offset = space.offset(_pointer(window, at))
        if offset is None:
            raise FormatError(f"the name of number {number} of its {what} is not in the file")
        # var_names and fn names are strings in assembler syntax, quoted since GCC 5
        names.append(space.elf.data.string(offset, "name of GCC's offload data").strip('"'))
    return tuple(names)
