# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read a host ELF file to a FatBinary: images, entries, descriptors, and their relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager import abi
from packager.elf import imports, without_headers
from packager.elf.address_space import Space
from packager.elf.headers import PT_INTERP, WORD, Elf
from packager.elf.space_of import space
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.formats.containers import cuda_fatbin, large_data, omptool_section
from packager.formats.containers.bundles import hip_fatbin
from packager.formats.device_images.comment import clang_releases
from packager.formats.host_records import (
    descriptors,
    entries,
    gcc_offload,
    map_types,
    region_names,
)
from packager.formats.host_records.descriptors import FoundDescriptor
from packager.formats.host_records.entries import FoundTable, Record
from packager.generations import named
from packager.host_machines import MACHINES
from packager.hosts import images as host_images
from packager.hosts import kpack_archives, registrations, told, unread
from packager.hosts.images import PlacedImage, Places
from packager.hosts.limits import Limits
from packager.layouts import CLASSIC_ENTRY, INTERFACE_ENTRY, REQUIRES, EntryLayout
from packager.look import Look
from packager.model import (
    Descriptor,
    DeviceImage,
    EntryKind,
    EntryTable,
    FatBinary,
    ImageRecords,
    OffloadEntry,
)
from packager.patterns import pattern
from packager.records import NamedTuple

# Kinds of entries by bits of a record's flags (LLVM's omptarget.h); the first set bit decides.
FLAG_KINDS: tuple[tuple[int, EntryKind], ...] = (
    (0x10, "requires"),
    (0x1, "link"),
    (0x2, "ctor"),
    (0x4, "dtor"),
    (0x8, "indirect"),
    (0x20, "indirect"),
)
# Last clang that omits the second of two regions with one name from the table.
LAST_UNLISTED = 14
VIRTUAL_TABLE = 0x20  # clang 22: the size is the table's, and images have a pointer to theirs
REGISTER = "__tgt_register_lib"
# Section of the wrapper's destructor, in objects of clang 14 to 18.
UNREGISTERING = pattern(r"\.fini_array\.0*1")
# Containers of images for HIP's and CUDA's runtimes; OpenMP's entries are not for them.
OTHER_MODELS = (hip_fatbin.NAME, cuda_fatbin.NAME, large_data.NAME)


class _Found(NamedTuple):
    """The offload data of a host file, in addresses of `memory`."""

    memory: Space
    tables: Sequence[FoundTable]
    images: Sequence[PlacedImage]
    descriptors: Sequence[FoundDescriptor]
    imports: tuple[str, ...]
    runtimes: tuple[str, ...]
    faults: Sequence[str]
    limits: Limits

    @property
    def is_object(self) -> bool:
        return self.memory.elf.is_object

    @property
    def at(self) -> int:
        """Return where the host is in its file, which may be an archive."""
        return self.memory.elf.data.at


def read_host(path: str, file: Elf) -> tuple[FatBinary, list[Reader]] | None:
    """Read the offload code of a host file, and the bytes of its images in order.

    Return None if the file is a device image itself. Raises FormatError if it is malformed.
    """
    # Read the sections, or stand-ins for them, and the address space of the file.
    memory = space(without_headers.completed(file))

    # Read the images, and tables of entries in sections; add images in Intel's lists and the calls
    # of runtimes.
    limits = Limits()
    look, brief = file.data.context.look, _brief(memory.elf)
    sycl = limits.of(lambda: told.sycl(memory), told.Sycl([], []))
    with file.data.context.looking(brief):
        sectioned = host_images.in_sections(memory, sycl.starts, limits)
    sectioned_tables = limits.of(lambda: entries.find(memory), [])
    calls, runtimes = imports.offload_imports(memory.elf)
    is_host = sectioned.images or sectioned.faults or sycl.images or calls or _is_program(file)
    # Only hosts have entries of models other than OpenMP.
    models = set().union(*(entries.models(table) for table in sectioned_tables))
    if sectioned_tables and models <= {"openmp"} and not is_host:
        return None

    # Find the descriptors, which point to images and tables.
    described = limits.of(lambda: _described(memory, sectioned_tables, sectioned.images, calls), [])

    # Add images that only addresses refer to. All images have their final numbers now.
    others = [*told.of_descriptors(described), *sycl.images]
    with file.data.context.looking(brief):
        placed = host_images.elsewhere(memory, others, sectioned.images, limits)
    images = host_images.numbered([*sectioned.images, *placed.images], described)

    # Add tables that only descriptors point to. All tables are known now.
    unsectioned = entries.in_ranges(memory, _unsectioned(described, sectioned_tables, images))
    tables = [*sectioned_tables, *unsectioned]
    if tables and brief != look:
        images = limits.of(lambda: host_images.looked_into(images), images)

    # Find the registrations of images with the runtimes of CUDA, HIP and SYCL.
    registered = limits.of(
        lambda: registrations.of_runtimes(memory, images, sycl.binaries),
        registrations.Found([], [], []),
    )

    # Convert all references to the model's indices, and add GCC's part.
    faults = [*sectioned.faults, *placed.faults, *registered.faults]
    found = _Found(memory, tables, images, described, calls, runtimes, faults, limits)
    binary = _assembled(path, found)
    binary = binary._replace(
        registrations=tuple(registered.rows),
        limits=limits.met,
        newer=(*binary.newer, *registered.newer),
    )
    return _with_gcc(memory, binary, [item.data for item in images])


def _brief(elf: Elf) -> Look:
    """Return the depth to which images are read before all tables of entries are known."""
    look = elf.data.context.look
    is_digested = look.code and elf.is_object  # needed for the digest of each kernel
    has_tables = any(entries.expected(section.name) for section in elf.sections)
    is_brief = look.for_entries and not is_digested and not has_tables
    return look._replace(symbols=False) if is_brief else look


def _described(
    memory: Space,
    tables: Sequence[FoundTable],
    images: Sequence[PlacedImage],
    calls: tuple[str, ...],
) -> list[FoundDescriptor]:
    """Return the descriptors, found by the tables and images that they point to if known."""
    if not memory.elf.has_headers:
        return descriptors.search(memory, calls)
    places = [item.place for item in images if item.place is not None]
    return descriptors.find(memory, tables, places, calls)


def _with_gcc(
    memory: Space, binary: FatBinary, data: list[Reader]
) -> tuple[FatBinary, list[Reader]]:
    """Return the binary and data with GCC's part, whose ABI differs from all others."""
    if not gcc_offload.claims(memory.elf):
        return binary, data
    from packager.hosts import gcc

    first, entry = len(binary.images), len(binary.entries)
    try:
        parts = gcc.read(memory, first, entry)
    except LimitError as error:
        return binary._replace(limits=(*binary.limits, str(error))), data
    except FormatError as error:
        return binary._replace(faults=(*binary.faults, str(error))), data
    whole = binary._replace(
        abi=binary.abi or "gcc",
        images=binary.images + parts.images,
        tables=binary.tables + parts.tables,
        descriptors=binary.descriptors + parts.descriptors,
        faults=binary.faults + parts.faults,
        unread=binary.unread + parts.unread,
    )
    return whole, [*data, *parts.data]


def _unsectioned(
    described: Sequence[FoundDescriptor],
    tables: Sequence[FoundTable],
    placed: Sequence[PlacedImage],
) -> Iterator[tuple[int, int, EntryLayout]]:
    """Yield (begin, end, layout) of descriptors whose records are in no section of entries."""
    sectioned = {abi.DOCUMENTS.get(table.layout) for table in tables}
    places = Places(placed)
    for descriptor in described:
        layout = descriptor.layout
        if layout is None:
            images = (placed[index] for index in _indices(descriptor, places))
            is_ours = any(image.container == omptool_section.NAME for image in images)
            layout = INTERFACE_ENTRY if is_ours else CLASSIC_ENTRY
        if abi.DOCUMENTS.get(layout) not in sectioned and descriptor.begin and descriptor.end:
            yield descriptor.begin, descriptor.end, layout


def _assembled(path: str, found: _Found) -> FatBinary:
    file = found.memory.elf
    libraries = imports.libraries(file)
    needed = libraries.needed
    places = Places(found.images)
    used = [_indices(descriptor, places) for descriptor in found.descriptors]
    images = host_images.records(found.memory, found.images, found.descriptors)
    evidence = _evidence(found, images, needed)
    tables = found.limits.of(lambda: _tables(found, used, evidence), ())
    archives = kpack_archives.of_elf(path, file)
    return FatBinary(
        path=path,
        machine=file.machine,
        type=_type(file),
        abi=tables[0].abi if tables else abi.of_file(evidence),
        images=images,
        tables=tables,
        descriptors=_descriptors(found, used),
        imports=found.imports,
        needed=needed,
        search=libraries.search,
        runtimes=tuple(name for name in needed if name in found.runtimes),
        has_headers=file.has_headers,
        unlisted=_unlisted(file, tables),
        data_address=min((s.address for s in file.sections if s.is_data and s.size), default=None),
        unread=tuple(unread.traces(file)),
        faults=(*found.faults, *archives.faults),
        archives=archives.found,
        newer=archives.newer,
        clangs=_releases(found),
        map_bits=_map_bits(file, tables),
    )


def _map_bits(file: Elf, tables: Sequence[EntryTable]) -> int:
    return map_types.unknown_bits(file) if any(named(table.abi) for table in tables) else 0


def _unlisted(file: Elf, tables: Sequence[EntryTable]) -> tuple[str, ...]:
    found = filter(None, (named(table.abi) for table in tables))
    is_old = any(row.last_release <= LAST_UNLISTED for row in found)
    return region_names.unlisted(file) if is_old else ()


def _is_program(file: Elf) -> bool:
    """Return whether a file cannot be a device image for a CPU, which is a shared object."""
    has_interpreter = any(segment.type == PT_INTERP for segment in file.segments)
    return file.is_object or file.is_executable or has_interpreter


def _type(file: Elf) -> str:
    if file.is_object:
        return "object"
    return "executable" if _is_program(file) else "shared"


def _indices(descriptor: FoundDescriptor, places: Places) -> tuple[int, ...]:
    """Return the indices of a descriptor's images, in its order.

    `elsewhere` has already added images that no section holds.
    """
    indices = (places.index(at) for at in descriptor.images)
    return tuple(index for index in indices if index is not None)


def _evidence(
    found: _Found, images: Sequence[DeviceImage], needed: tuple[str, ...]
) -> abi.Evidence:
    """Return the evidence of the generation, from OpenMP's images only."""
    mine = [image for image in images if image.producer in (None, "openmp")]
    is_told = any(descriptor.images for descriptor in found.descriptors)
    # omptool's sections of generations without a version hold the first version.
    ours = {omptool_section.NAME: 1}
    versions = (i.container_version for i in mine if i.container_version > ours.get(i.container, 0))
    return abi.Evidence(
        imports=found.imports,
        needed=needed,
        is_wrapped=any(image.is_wrapped for image in images) if is_told else None,
        registration=_registration(found),
        container_version=max(versions, default=0),
        releases=_releases(found) or [n for image in mine for n in image.contents.clangs],
    )


def _releases(found: _Found) -> tuple[int, ...]:
    try:
        return clang_releases(found.memory.elf)
    except FormatError:
        return ()  # a malformed .comment is ignored


def _registration(found: _Found) -> abi.Registration | None:
    """Return how the file unregisters; None if this does not show its compiler.

    Up to 18, clang's objects call for their requirements, and an array unregisters the wrapper. An
    edit may add such an array in any generation.
    """
    asks = any(name.partition("@")[0] == REQUIRES for name in found.imports)
    if found.is_object:
        sections = found.memory.elf.sections if found.descriptors else ()
        asks = asks or any(UNREGISTERING.fullmatch(section.name) for section in sections)
        return "init_array" if asks else "at_exit"
    addresses = {descriptor.address for descriptor in found.descriptors}
    by_array = descriptors.unregistered_by_array(found.memory, addresses)
    if by_array and not asks:
        return None
    return "init_array" if by_array or (by_array is None and asks) else "at_exit"


def _tables(
    found: _Found, used: Sequence[tuple[int, ...]], evidence: abi.Evidence
) -> tuple[EntryTable, ...]:
    result: list[EntryTable] = []
    for table in found.tables:
        first = sum(len(earlier.entries) for earlier in result)
        result.append(
            EntryTable(
                section=table.section,
                abi=abi.of_table(table.layout, table.section, evidence),
                record_size=table.layout.record,
                offset=found.at + table.offset,
                size=table.size,
                address=None if found.is_object else table.bounds[0],
                entries=_entries(found, table, first),
                images=_paired(found, table, used),
                version=entries.version(table),
            )
        )
    return tuple(result)


def _paired(found: _Found, table: FoundTable, used: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the images of a table: registered with it, or unregistered and of its ABI."""
    mine: set[int] = set()
    taken: set[int] = set()
    for descriptor, indices in zip(found.descriptors, used, strict=True):
        taken.update(indices)
        if _spans(descriptor, table):
            mine.update(indices)
    is_ours = table.layout in abi.DOCUMENTS
    return tuple(
        index
        for index, image in enumerate(found.images)
        if index in mine
        or (
            index not in taken
            and image.container not in OTHER_MODELS
            and is_ours == (image.container == omptool_section.NAME)
        )
    )


def _spans(descriptor: FoundDescriptor, table: FoundTable) -> bool:
    begin, end = table.bounds
    if descriptor.begin is None or descriptor.end is None:
        return False
    return max(begin, descriptor.begin) < min(end, descriptor.end)


def _entries(found: _Found, table: FoundTable, first: int) -> tuple[OffloadEntry, ...]:
    records = list(entries.records(found.memory, table))
    names = found.memory.symbol_names({record.address for record in records if record.address})
    return tuple(
        OffloadEntry(
            number=first + number,
            kind=_entry_kind(record),
            name=record.name,
            address=None if found.is_object else record.address,
            symbol=names.get(record.address or 0) or table.symbol(record),
            size=record.size,
            flags=record.flags,
            offset=found.at + table.offset + record.offset,
            place=number,
            target=record.target,
            data=record.data,
            model=record.model,
            device_size=_device_size(record),
        )
        for number, record in enumerate(records)
    )


def _device_size(record: Record) -> int | None:
    is_table = record.model == "openmp" and (record.flags or 0) & VIRTUAL_TABLE
    return WORD.size if is_table else None


def _entry_kind(record: Record) -> EntryKind:
    for bit, kind in FLAG_KINDS if record.model == "openmp" else ():
        if (record.flags or 0) & bit:
            return kind
    return "global" if record.size else "kernel"


def _descriptors(found: _Found, used: Sequence[tuple[int, ...]]) -> tuple[Descriptor, ...]:
    addresses = {descriptor.address for descriptor in found.descriptors}
    by = descriptors.registering(found.memory, addresses) if _can_register(found) else {}
    return tuple(
        Descriptor(
            address=None if found.is_object else at.address,
            offset=found.at + (found.memory.offset(at.address) or 0),
            images=indices,
            entries_begin=None if found.is_object else at.begin,
            entries_end=None if found.is_object else at.end,
            registered_by=by.get(at.address),
            is_traced=found.memory.elf.machine in MACHINES,
            records=None if found.is_object else ImageRecords(at.array, at.record, at.images),
        )
        for at, indices in zip(found.descriptors, used, strict=True)
    )


def _can_register(found: _Found) -> bool:
    """Return whether a constructor that refers to a descriptor can call a runtime."""
    if any(name.startswith(REGISTER) for name in found.imports):
        return True
    return bool(found.descriptors) and imports.defines(found.memory.elf, REGISTER)
