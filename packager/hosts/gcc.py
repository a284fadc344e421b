# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convert GCC's offload data to the model: images, a table of entries, descriptors."""

from __future__ import annotations

from collections.abc import Sequence

from packager.elf.address_space import Space
from packager.elf.headers import WORD
from packager.files.reader import Reader
from packager.formats.containers.payload import Payload
from packager.formats.device_images import known as inspected
from packager.formats.host_records import gcc_devices, gcc_offload
from packager.formats.host_records.gcc_offload import LINK_BIT, VARIABLE, Found, Registration
from packager.model import Descriptor, DeviceImage, EntryKind, EntryTable, OffloadEntry
from packager.records import NamedTuple


class GccParts(NamedTuple):
    """The part of a FatBinary that GCC's data adds."""

    images: tuple[DeviceImage, ...]
    data: tuple[Reader, ...]
    tables: tuple[EntryTable, ...]
    descriptors: tuple[Descriptor, ...]
    faults: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class _Part(NamedTuple):
    """A registration with its images, and the device names of functions and variables."""

    registration: Registration
    images: tuple[DeviceImage, ...]
    data: tuple[Reader, ...]
    functions: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


def read(space: Space, first_image: int, first_entry: int) -> GccParts:
    """Read GCC's part of a linked file; images and entries are numbered from the given numbers.

    Each kind of device has its own table of entries with its own names. Raises FormatError if the
    part is malformed.
    """
    found = gcc_offload.find(space)
    parts: list[_Part] = []
    for registration in found.registrations:
        index = first_image + sum(len(part.images) for part in parts)
        parts.append(_part(space, registration, index, len(found.variable_records)))
    tables: list[EntryTable] = []
    for part in [part for part in parts if part.images] or (None,):
        number = first_entry + sum(len(table.entries) for table in tables)
        tables += _tables(space, found, part, number)
    registrations = found.registrations
    return GccParts(
        tuple(image for part in parts for image in part.images),
        tuple(data for part in parts for data in part.data),
        tuple(tables),
        tuple(_descriptor(space, found, part) for part in parts),
        tuple(one.fault for one in registrations if one.fault),
        tuple(one.unread for one in registrations if one.unread),
    )


def _part(space: Space, registration: Registration, first: int, variables: int) -> _Part:
    device, registered = registration.device, registration.data
    if device is None:
        return _Part(registration, (), ())
    images: list[DeviceImage] = []
    data: list[Reader] = []
    for module in registered.modules:
        offset = space.offset(module.start, module.size) or 0
        data.append(space.elf.data.slice(offset, module.size, "device image of GCC"))
        payload = Payload(data[-1], declared_kind=device.kind)
        index = first + len(images)
        inside = inspected.looked_into(payload)
        images.append(
            inspected.record(
                payload, inside, index, gcc_offload.NAME, module.start, triple=device.triple
            )
        )
    names = registered.variables
    if names is None:
        names = gcc_devices.listed_variables(data[0], variables)
    return _Part(registration, tuple(images), tuple(data), registered.functions, names)


def _tables(space: Space, found: Found, part: _Part | None, first: int) -> list[EntryTable]:
    """Return the entry tables for one device part; with None, for no device."""
    entries = _entries(space, found, part, first)
    count = len(found.function_addresses)
    sections = (
        (found.functions, WORD.size, entries[:count]),
        (found.variables, VARIABLE.size, entries[count:]),
    )
    return [
        EntryTable(
            section=section.name,
            abi="gcc",
            record_size=record,
            offset=space.elf.data.at + section.offset,
            size=section.size,
            address=section.address,
            entries=tuple(rows),
            images=_relevant(part.images, entries) if part else (),
        )
        for section, record, rows in sections
        if section
    ]


def _entries(space: Space, found: Found, part: _Part | None, first: int) -> list[OffloadEntry]:
    symbols = space.symbol_names(
        {*found.function_addresses, *(address for address, _ in found.variable_records)}
    )
    at = space.elf.data.at
    functions = part.functions if part else ()
    variables = part.variables if part else ()
    entries = []
    for number, address in enumerate(found.function_addresses):
        symbol = symbols.get(address)
        name = functions[number] if number < len(functions) else symbol or ""
        offset = at + (found.functions.offset if found.functions else 0) + number * WORD.size
        entries.append(_entry(first + number, "kernel", name, address, symbol, 0, offset, number))
    for number, (address, size) in enumerate(found.variable_records):
        symbol = symbols.get(address)
        name = variables[number] if number < len(variables) else symbol or ""
        kind: EntryKind = "link" if size & LINK_BIT else "global"
        place = at + (found.variables.offset if found.variables else 0) + number * VARIABLE.size
        index = first + len(found.function_addresses) + number
        size &= ~LINK_BIT
        entries.append(_entry(index, kind, name, address, symbol, size, place, number))
    return entries


def _entry(
    number: int,
    kind: EntryKind,
    name: str,
    address: int,
    symbol: str | None,
    size: int,
    offset: int,
    place: int,
) -> OffloadEntry:
    return OffloadEntry(
        number=number,
        kind=kind,
        name=name,
        address=address,
        symbol=symbol,
        size=size,
        flags=None,
        offset=offset,
        place=place,
        target=(None, address),
        device_size=WORD.size if kind == "link" else None,
    )


def _relevant(found: Sequence[DeviceImage], entries: Sequence[OffloadEntry]) -> tuple[int, ...]:
    """Return the modules with functions of the program; the others are GCC's device library."""
    names = {entry.name for entry in entries}
    own = [image.index for image in found if any(s.name in names for s in image.symbols)]
    return tuple(own or (image.index for image in found))


def _descriptor(space: Space, found: Found, part: _Part) -> Descriptor:
    section = found.functions or found.variables
    one = part.registration
    return Descriptor(
        address=one.table,
        offset=space.elf.data.at + (space.offset(one.table) or 0),
        images=tuple(image.index for image in part.images),
        entries_begin=section.address if section else None,
        entries_end=section.address + section.size if section else None,
        registered_by=one.constructor,
    )
