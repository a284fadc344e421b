"""GCC's offload data in the terms of the model: images, a table of entries, descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from packager.elf import WORD
from packager.formats import gcc_offload, images
from packager.formats.gcc_offload import LINK_BIT, VARIABLE, Found, Registration
from packager.formats.payload import Payload
from packager.memory import Space
from packager.model import Descriptor, DeviceImage, EntryKind, EntryTable, OffloadEntry
from packager.reader import Reader


class GccParts(NamedTuple):
    """What is added to a FatBinary."""

    images: tuple[DeviceImage, ...]
    data: tuple[Reader, ...]
    tables: tuple[EntryTable, ...]
    descriptors: tuple[Descriptor, ...]
    faults: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def read(space: Space, first_image: int, first_entry: int, *, hashed: bool) -> GccParts:
    """GCC's part of a linked file; images and entries are numbered from these on.

    Raises FormatError when it is malformed.
    """
    found = gcc_offload.find(space)
    pairs: list[tuple[DeviceImage, Reader]] = []
    parts: list[tuple[Registration, tuple[int, ...]]] = []
    for registration in found.registrations:
        start = first_image + len(pairs)
        for module in registration.modules:
            offset = space.offset(module.start, module.size) or 0
            data = space.elf.data.slice(offset, module.size, "PTX of GCC")
            payload = Payload(data, declared_kind="ptx")
            index = first_image + len(pairs)
            image = images.from_payload(payload, index, gcc_offload.NAME, module.start, hashed)
            pairs.append((replace(image, triple=gcc_offload.TRIPLE), data))
        parts.append((registration, tuple(range(start, first_image + len(pairs)))))
    named = parts[0][0] if parts else None
    entries = _entries(space, found, named, first_entry)
    kept = [image for image, _ in pairs]
    tables = _tables(space, found, entries, _relevant(kept, entries))
    return GccParts(
        tuple(kept),
        tuple(data for _, data in pairs),
        tables,
        tuple(_descriptor(space, found, one, indices) for one, indices in parts),
        tuple(one.fault for one in found.registrations if one.fault),
        tuple(one.unread for one in found.registrations if one.unread),
    )


def _entries(
    space: Space, found: Found, named: Registration | None, first: int
) -> list[OffloadEntry]:
    symbols = space.symbol_names(
        {*found.function_addresses, *(address for address, _ in found.variable_records)}
    )
    at = space.elf.data.at
    functions = named.functions if named else ()
    variables = named.variables if named else ()
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
    """The modules with the program's own functions: the others are GCC's device library."""
    names = {entry.name for entry in entries}
    own = [image.index for image in found if any(s.name in names for s in image.symbols)]
    return tuple(own or (image.index for image in found))


def _tables(
    space: Space, found: Found, entries: Sequence[OffloadEntry], used: tuple[int, ...]
) -> tuple[EntryTable, ...]:
    count = len(found.function_addresses)
    parts = (
        (found.functions, WORD.size, entries[:count]),
        (found.variables, VARIABLE.size, entries[count:]),
    )
    return tuple(
        EntryTable(
            section=section.name,
            abi="gcc",
            record_size=record,
            offset=space.elf.data.at + section.offset,
            size=section.size,
            address=section.address,
            entries=tuple(rows),
            images=used,
        )
        for section, record, rows in parts
        if section
    )


def _descriptor(
    space: Space, found: Found, one: Registration, indices: tuple[int, ...]
) -> Descriptor:
    section = found.functions or found.variables
    return Descriptor(
        address=one.table,
        offset=space.elf.data.at + (space.offset(one.table) or 0),
        images=indices,
        entries_begin=section.address if section else None,
        entries_end=section.address + section.size if section else None,
        registered_by=one.constructor,
    )
