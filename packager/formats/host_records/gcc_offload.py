# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GCC's offloading data in a linked program (libgomp's GOMP_offload_register_ver).

`.gnu.offload_funcs` holds the addresses of the host's functions, `.gnu.offload_vars` addresses and
sizes of variables. A constructor registers a table of their bounds, `__OFFLOAD_TABLE__`, with the
data of one kind of device, which gcc_devices.py reads.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from struct import Struct

from packager.elf.address_space import Space
from packager.elf.headers import WORD, Elf, Section
from packager.elf.relocated import Range, Window
from packager.errors import FormatError
from packager.formats.host_records import descriptors
from packager.formats.host_records.gcc_devices import DEVICES, STARTS, Device, DeviceData
from packager.host_machines import MACHINES
from packager.records import NamedTuple

NAME = "gcc"
FUNCTIONS, VARIABLES = ".gnu.offload_funcs", ".gnu.offload_vars"
# Address and size of a variable.
VARIABLE = Struct("<QQ")
LINK_BIT = 1 << 63  # bit in a variable's size: `declare target link`
TABLE_SIZE = 4 * WORD.size  # the bounds of the functions and of the variables
MAX_REGISTRATIONS = 16  # one for each kind of device; each is read by itself
# Size of code that contains the kind of device in a constructor.
CODE = 48
KINDS = range(5, 9)


class Registration(NamedTuple):
    """The data that a constructor registers."""

    table: int  # address of __OFFLOAD_TABLE__
    constructor: str
    device: Device | None = None  # None: unreadable, then `fault` has the reason
    data: DeviceData = DeviceData()
    fault: str | None = None  # why
    unread: str | None = None  # a kind of device whose data are not read


class Found(NamedTuple):
    """The tables and images that GCC has put into a file."""

    functions: Section | None
    function_addresses: tuple[int, ...]
    variables: Section | None
    variable_records: tuple[tuple[int, int], ...]  # address, size with LINK_BIT
    registrations: tuple[Registration, ...]


def claims(elf: Elf) -> bool:
    """Return whether a linked file has GCC's tables."""
    return not elf.is_object and any(s.name in (FUNCTIONS, VARIABLES) for s in elf.sections)


def find(space: Space) -> Found:
    """Return GCC's tables and their registrations. Raises FormatError for a malformed table."""
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
    """Return the constructors that refer to a table of these sections, with the data."""
    slots = descriptors.constructors(space)
    # A window around a short function includes the code behind it.
    spans = pairwise([*sorted(slots), sys.maxsize])
    referred = {at: sorted(space.targets(at, end)) for at, end in spans}
    real = _real_tables(
        space, {at for targets in referred.values() for at in targets}, functions, variables
    )
    found: dict[tuple[int, int | None], Registration] = {}
    names = space.symbol_names(set(slots))
    # A destructor that refers to the same data may follow another constructor: the last one
    # registers.
    for function, targets in referred.items():
        tables = [at for at in targets if at in real]
        if not tables:
            continue
        if len(found) > MAX_REGISTRATIONS:
            raise FormatError(f"more than {MAX_REGISTRATIONS} registrations of GCC's offload data")
        name = names.get(function, f".init_array[{slots[function]}]")
        data = [at for at in targets if at not in real]
        kind = _device_kind(space, function)
        found[tables[0], kind] = _registration(space, kind, tables[0], name, data)
    told = {table for table, kind in found if kind is not None}
    return [one for (table, kind), one in found.items() if kind is not None or table not in told]


def _registration(
    space: Space, kind: int | None, table: int, name: str, candidates: Sequence[int]
) -> Registration:
    """Return a constructor's registration of a table, if all its data is valid."""
    devices = [device for device in DEVICES if kind in (None, device.number)]
    if not devices:
        what = f"data of a device of kind {kind}, for libgomp, which this version does not read"
        return Registration(table, name, unread=what)
    fault = "GCC's data of a device is not in the file"
    for device in devices:
        for at in candidates:
            for start in STARTS:
                try:
                    return Registration(table, name, device, device.read(space, at + start))
                except FormatError as error:
                    # Some candidates are constants smaller than any address.
                    fault = fault if start else f"GCC's data of a device at {at:#x}: {error}"
    return Registration(table, name, fault=fault)


def _device_kind(space: Space, function: int) -> int | None:
    """Return the device kind that a constructor passes to libgomp as third argument, or None."""
    machine = MACHINES.get(space.elf.machine)
    if space.offset(function, CODE) is None or machine is None:
        return None
    code = space.elf.data.bytes(space.offset(function) or 0, CODE, "constructor")
    kind = machine.reader.argument(code, 2)
    return kind if kind in KINDS else None


def _real_tables(
    space: Space, addresses: set[int], functions: Section | None, variables: Section | None
) -> set[int]:
    """Return the addresses that hold a table; reads all at once, because relocating takes time."""
    ranges = [
        Range(address, TABLE_SIZE, "GCC's offload data")
        for address in sorted(addresses)
        if space.offset(address, TABLE_SIZE) is not None
    ]
    windows = space.windows(ranges)
    return {w.address for w in windows if _is_table(w, functions, variables)}


def _is_table(window: Window, functions: Section | None, variables: Section | None) -> bool:
    """Return whether the bounds of both sections are there."""
    found = [_pointer(window, at) for at in _steps(window, WORD.size)]
    return all(
        found[at : at + 2] == [section.address, section.address + section.size]
        for at, section in ((0, functions), (2, variables))
        if section
    )
