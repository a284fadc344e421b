"""What GCC's offloading leaves in a linked program (libgomp's GOMP_offload_register_ver).

`.gnu.offload_funcs` holds the addresses of the host's functions, `.gnu.offload_vars` addresses and
sizes of variables. A constructor registers a table of their bounds, `__OFFLOAD_TABLE__`, with the
data of one kind of device; for nvptx that are PTX modules, which the driver links, and the names
that functions and variables have there, in the order of the host's.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from packager.elf import WORD, Elf, Section
from packager.errors import FormatError
from packager.formats import descriptors
from packager.memory import Space
from packager.windows import Range, Window

NAME = "gcc"
FUNCTIONS, VARIABLES = ".gnu.offload_funcs", ".gnu.offload_vars"
# Intermediate code, which is in objects only.
LTO = ".gnu.offload_lto_"
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
        data = next((d for at in targets if (d := _data(space, at)) is not None), ((), (), ()))
        name = names.get(function, f".init_array[{slot}]")
        found[tables[0]] = Registration(tables[0], name, *data)
    return list(found.values())


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


def _window(space: Space, address: int, size: int) -> Window | None:
    if space.offset(address, size) is None:
        return None
    return space.windows([Range(address, size, "GCC's offload data")])[0]


Data = tuple[tuple[Module, ...], tuple[str, ...], tuple[str, ...]]


def _data(space: Space, address: int) -> Data | None:
    """The target_data of nvptx at `address`; None if something else is there."""
    for start in STARTS:
        window = _window(space, address + start, PARTS * PART)
        parts = _parts(window) if window else None
        if parts is None:
            continue
        (modules, count), (variables, named), (functions, called) = parts
        texts = _modules(space, modules, count)
        names = _names(space, variables, named, WORD.size)
        kernels = _names(space, functions, called, FUNCTION_SIZE)
        if texts and names is not None and kernels is not None:
            return texts, kernels, names
    return None


def _parts(window: Window) -> list[tuple[int, int]] | None:
    parts = [(_pointer(window, at), window.half(at + WORD.size)) for at in _steps(window, PART)]
    return parts if all(count <= MAX_COUNT for _, count in parts) else None


def _modules(space: Space, address: int, count: int) -> tuple[Module, ...]:
    window = _window(space, address, count * MODULE.size) if count else None
    if window is None:
        return ()
    found = [
        Module(_pointer(window, at), window.word(at + WORD.size))
        for at in _steps(window, MODULE.size)
    ]
    is_whole = all(m.start and space.offset(m.start, m.size) is not None for m in found)
    return tuple(found) if is_whole else ()


def _names(space: Space, address: int, count: int, step: int) -> tuple[str, ...] | None:
    window = _window(space, address, count * step) if count else None
    if window is None:
        return None if count else ()
    names = []
    for at in _steps(window, step):
        offset = space.offset(_pointer(window, at))
        if offset is None:
            return None
        # var_names and fn names are strings in assembler syntax, quoted since GCC 5
        names.append(space.elf.data.string(offset, "name of GCC's offload data").strip('"'))
    return tuple(names)


def lto_sections(elf: Elf) -> Sequence[Section]:
    """Sections of intermediate code for a device: an object that is not linked yet."""
    return [section for section in elf.sections if section.name.startswith(LTO)]
