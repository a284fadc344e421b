"""A host ELF file to a FatBinary: its images, entries and descriptors, and how they relate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from packager import abi, imports
from packager.elf import PT_INTERP, Elf, Section
from packager.errors import FormatError
from packager.formats import descriptors, entries, images, llvm_offloading, omptool_section, unread
from packager.formats.descriptors import FoundDescriptor, ImageRange
from packager.formats.entries import FoundTable
from packager.formats.offload_binary import Blob
from packager.memory import Space, space
from packager.model import (
    Abi,
    Descriptor,
    DeviceImage,
    EntryKind,
    EntryTable,
    FatBinary,
    OffloadEntry,
)
from packager.reader import Reader

# More than any real file has: its images are of a few triples and some dozen archs.
MAX_IMAGES = 4096
# Bits of a record's flags (LLVM's omptarget.h); the first that is set names the kind.
FLAG_KINDS: tuple[tuple[int, EntryKind], ...] = (
    (0x10, "requires"),
    (0x1, "link"),
    (0x2, "ctor"),
    (0x4, "dtor"),
    (0x8, "indirect"),
)
REGISTER = "__tgt_register_lib"


if TYPE_CHECKING:

    class Container(Protocol):
        """A module of formats/ whose images are in sections of their own."""

        NAME: str

        @property
        def claims(self) -> Callable[[Section], bool]:
            """Whether a section is of this format."""

        @property
        def parse(self) -> Callable[[Reader], Iterator[Blob]]:
            """The images in the bytes of a section."""


# Where containers of host files are tried.
CONTAINERS: tuple[Container, ...] = (omptool_section, llvm_offloading)


def read_host(path: Path, file: Elf, *, hashed: bool) -> FatBinary | None:
    """What a host file says about offloading; None if the file is a device image itself.

    Raises FormatError when it is malformed.
    """
    if not file.sections:
        raise FormatError("has no section headers; such files are not read by this version")
    memory = space(file)
    found = list(_section_images(memory, hashed))
    tables = entries.find(memory)
    calls = imports.offload_imports(file)
    if tables and not found and not calls and not _is_program(file):
        return None
    addresses = [address for image in found if (address := _place(memory, image)) is not None]
    raw = descriptors.find(memory, [table.bounds for table in tables], addresses)
    found += _raw_images(memory, raw, found, hashed)
    used = [_images_of(memory, descriptor, found) for descriptor in raw]
    return FatBinary(
        str(path),
        file.machine,
        _type(file),
        _abi(file, tables, found, calls),
        tuple(found),
        _tables(memory, tables, found, list(zip(raw, used, strict=True)), calls),
        _descriptors(memory, raw, used, calls),
        calls,
        tuple(unread.traces(file)) + tuple(entries.unread(tables)),
    )


def _is_program(file: Elf) -> bool:
    """Whether it cannot be a device image for a CPU, which is a shared object."""
    return (
        file.is_object
        or file.is_executable
        or any(segment.type == PT_INTERP for segment in file.segments)
    )


def _type(file: Elf) -> str:
    if file.is_object:
        return "object"
    return "executable" if _is_program(file) else "shared"


def _section_images(memory: Space, hashed: bool) -> Iterator[DeviceImage]:
    blobs = (
        (container.NAME, section, blob)
        for section in memory.elf.sections
        for container in CONTAINERS
        if container.claims(section)
        for blob in container.parse(memory.elf.content(section))
    )
    for index, (container, section, blob) in enumerate(blobs):
        if index == MAX_IMAGES:
            raise FormatError(f"more than {MAX_IMAGES} device images")
        loaded = section.is_allocated and not memory.elf.is_object
        address = section.address + blob.image.at - section.offset
        yield images.from_blob(blob, index, container, address if loaded else None, hashed)


def _place(memory: Space, image: DeviceImage) -> int | None:
    """The address of an image as pointers of this file have it."""
    if not memory.elf.is_object:
        return image.address
    for section in memory.elf.sections:
        inside = image.offset - section.offset
        if section.is_allocated and section.has_bytes and 0 <= inside <= section.size:
            return memory.address(section) + inside
    return None


def _raw_images(
    memory: Space, raw: Sequence[FoundDescriptor], found: Sequence[DeviceImage], hashed: bool
) -> list[DeviceImage]:
    """The images that descriptors point to and no container holds."""
    known = [_place(memory, image) for image in found]
    added: dict[int, DeviceImage] = {}
    for at in (image for descriptor in raw for image in descriptor.images):
        if at.start in added or any(_is_at(at, place) for place in known):
            continue
        offset = memory.offset(at.start, at.end - at.start)
        if offset is None or len(added) == MAX_IMAGES:
            raise FormatError(f"device image at address {at.start:#x} is not in the file")
        added[at.start] = images.inspect_image(
            memory.elf.data.slice(offset, at.end - at.start, "device image"),
            index=len(found) + len(added),
            container="raw",
            address=None if memory.elf.is_object else at.start,
            hashed=hashed,
        )
    return list(added.values())


def _is_at(at: ImageRange, place: int | None) -> bool:
    """Clang 15 to 17 register the OffloadBinary that the image is in, the others the image."""
    return place is not None and (at.start == place or at.start < place < at.end)


def _images_of(
    memory: Space, descriptor: FoundDescriptor, found: Sequence[DeviceImage]
) -> tuple[int, ...]:
    places = [(image.index, _place(memory, image)) for image in found]
    return tuple(index for at in descriptor.images for index, place in places if _is_at(at, place))


def _abi(
    file: Elf, tables: Sequence[FoundTable], found: Sequence[DeviceImage], calls: Sequence[str]
) -> Abi | None:
    """The ABI of the file: of its first table, else of what it imports."""
    if tables:
        return _table_abi(file, tables[0], found, calls)
    return abi.of_imports(calls)


def _table_abi(
    file: Elf, table: FoundTable, found: Sequence[DeviceImage], calls: Sequence[str]
) -> Abi:
    wrapped = any(image.container == llvm_offloading.NAME for image in found)
    return abi.of_section(table.section.name, imports.needed(file), calls, wrapped=wrapped)


def _tables(
    memory: Space,
    tables: Sequence[FoundTable],
    found: Sequence[DeviceImage],
    registered: Sequence[tuple[FoundDescriptor, tuple[int, ...]]],
    calls: Sequence[str],
) -> tuple[EntryTable, ...]:
    result: list[EntryTable] = []
    for table in tables:
        first = sum(len(earlier.entries) for earlier in result)
        result.append(
            EntryTable(
                section=table.section.name,
                abi=_table_abi(memory.elf, table, found, calls),
                record_size=table.layout.record,
                offset=table.section.offset,
                size=table.section.size,
                address=None if memory.elf.is_object else table.section.address,
                entries=_entries(memory, table, first),
                images=_paired(table, found, registered),
            )
        )
    return tuple(result)


def _paired(
    table: FoundTable,
    found: Sequence[DeviceImage],
    registered: Sequence[tuple[FoundDescriptor, tuple[int, ...]]],
) -> tuple[int, ...]:
    """The images that a table is for: registered with it, or unregistered and of its ABI."""
    mine = {index for at, used in registered if _spans(at, table) for index in used}
    taken = {index for _, used in registered for index in used}
    is_ours = table.layout.generation == "interface"
    return tuple(
        image.index
        for image in found
        if image.index in mine
        or (image.index not in taken and is_ours == (image.container == omptool_section.NAME))
    )


def _spans(descriptor: FoundDescriptor, table: FoundTable) -> bool:
    begin, end = table.bounds
    if descriptor.begin is None or descriptor.end is None:
        return False
    return max(begin, descriptor.begin) < min(end, descriptor.end)


def _entries(memory: Space, table: FoundTable, first: int) -> tuple[OffloadEntry, ...]:
    records = list(entries.records(memory, table))
    names = memory.symbol_names({record.address for record in records if record.address})
    return tuple(
        OffloadEntry(
            index=first + number,
            kind=_entry_kind(record.size, record.flags or 0),
            name=record.name,
            address=None if memory.elf.is_object else record.address,
            symbol=names.get(record.address or 0) or record.symbol,
            size=record.size,
            flags=record.flags,
            offset=table.section.offset + record.offset,
        )
        for number, record in enumerate(records)
    )


def _entry_kind(size: int, flags: int) -> EntryKind:
    for bit, kind in FLAG_KINDS:
        if flags & bit:
            return kind
    return "global" if size else "kernel"


def _descriptors(
    memory: Space,
    raw: Sequence[FoundDescriptor],
    used: Sequence[tuple[int, ...]],
    calls: Sequence[str],
) -> tuple[Descriptor, ...]:
    can_register = bool(raw) and (
        any(name.startswith(REGISTER) for name in calls) or imports.defines(memory.elf, REGISTER)
    )
    by = descriptors.registrations(memory, raw) if can_register else {}
    linked = not memory.elf.is_object
    return tuple(
        Descriptor(
            address=at.address if linked else None,
            offset=memory.offset(at.address) or 0,
            images=indices,
            entries_begin=at.begin if linked else None,
            entries_end=at.end if linked else None,
            registered_by=by.get(at.address),
        )
        for at, indices in zip(raw, used, strict=True)
    )
