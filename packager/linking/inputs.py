# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the inputs of a host link that have offload code: objects and members of archives."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from packager.elf import headers
from packager.elf.headers import MAGIC as ELF
from packager.errors import FormatError, UsageError
from packager.files.reader import Reader, open_reader
from packager.files.sources import File
from packager.files.temporary import store
from packager.formats.containers import archive as archives
from packager.formats.containers import cuda_fatbin
from packager.formats.containers.bundles import hip_fatbin
from packager.formats.device_images.bitcode import magic
from packager.formats.device_images.bitcode.magic import MAGIC, WRAPPER_MAGIC
from packager.formats.device_images.comment import clang_releases
from packager.formats.host_records import requirements
from packager.hosts.load import Loaded, load_member, load_open
from packager.hosts.members import Member
from packager.linking.deferred import DeferredPart, deferrable
from packager.linking.host_command import is_device_library
from packager.linking.libraries import LinkedFile
from packager.linking.memory_files import memory_file
from packager.look import Look
from packager.model import DeviceImage, FatBinary
from packager.records import NamedTuple

# Archives of device libraries have code for dozens of processors, of which few are needed.
LOOK = Look(symbols=False, resources=False)
BEGIN = 8
# Small images are read several times, so they stay in memory: an image, and all of a link.
SMALL, MOST_IN_MEMORY = 1 << 16, 1 << 26
MOST_ARCHIVES = 128  # with device code, that stay open
TYPE_AT = 16  # offset of an ELF header's type: 1 is a relocatable object
OBJECT = b"\1\0"
# Images that objects register themselves, with CUDA's or HIP's runtime.
REGISTERED = (cuda_fatbin.NAME, hip_fatbin.NAME)
# Matches part of the names of all sections of device code and of entries.
OFFLOADING = re.compile(b"(?i)offload|omp|target|fatbin")


class Part(NamedTuple):
    """A device image that is to be linked."""

    origin: str  # the object that it is in, "a.o" or "libk.a(k.o)"
    image: DeviceImage
    file: Path  # file of its bytes alone, at the latest after `stored`
    data: Reader | None = None  # bytes in memory, or in an archive while `is_stored` is False
    is_stored: bool = True

    @contextmanager
    def opened(self) -> Iterator[Reader]:
        """Open the bytes of the image."""
        if self.data is not None:
            yield self.data
            return
        with open_reader(self.file) as data:
            yield data

    def stored(self) -> Part:
        """Return the part with its bytes stored in the file."""
        if self.is_stored:
            return self
        if self.data is not None:
            store(self.file, self.data.pieces())
        return Part(self.origin, self.image, self.file)

    def holds(self, word: bytes) -> bool:
        """Return whether the bytes contain a word, a quick test."""
        with self.opened() as data:
            return data.holds(word)


class HostPart(NamedTuple):
    """An object, or a member of an archive, that has offload code."""

    name: str
    binary: FatBinary
    parts: tuple[Part, ...]
    archive: Path | None = None
    member: str = ""
    is_whole: bool = False  # the archive is linked with all its members
    entry_symbols: tuple[str, ...] = ()  # global symbols of its records of entries
    is_linkable: bool = False  # whether it defines anything that a host's link could look for
    releases: tuple[int, ...] = ()  # releases of clang that compiled it
    requires: int | None = 0  # the mask of what all objects have to ask for; None: unknown
    # Symbols that a bitcode module defines, as gold's map lists them for a chosen member: "(k1)".
    host_symbols: frozenset[str] = frozenset()


class Objects(NamedTuple):
    """The files of a link that have offload code, in their order, and the archives among them."""

    parts: list[HostPart | DeferredPart]
    archives: list[LinkedFile]
    closed: list[FatBinary]  # objects that register their images themselves, and call a runtime


def objects(
    files: Iterable[tuple[LinkedFile, Reader]],
    folder: Path,
    opened: ExitStack,
    *,
    in_memory: bool = False,
) -> Objects:
    """Return the inputs with offload code, and copy each device image to a file in `folder`.

    With `in_memory`, small objects are files in memory, until `opened` closes.
    Images in archives are not copied, because the host's linker may omit them; they are readable
    while `opened` is open. Raises FormatError, UsageError for an input that cannot be understood.
    """
    found = Objects([], [], [])
    copies = _Copies(folder, opened, in_memory=in_memory)
    archives_seen: set[tuple[int, int]] = set()
    for file, data in files:
        path = file.path
        kind = _kind(data)
        if kind == "archive":
            found.archives.append(file)
            identity = _identity(path)
            if identity in archives_seen or is_device_library(path):
                continue
            archives_seen.add(identity)
        if kind:
            archive = path if kind == "archive" else None
            try:
                for part in _host_parts(file, data, archive, copies, found.closed):
                    found.parts.append(part)
            except FormatError as error:
                raise UsageError(str(error), path) from error
    return found


def _kind(data: Reader) -> str:
    """Return the kind of an input that may have offload code; "" for all others."""
    begin = data.bytes(0, min(TYPE_AT + len(OBJECT), len(data)))
    if begin.startswith(ELF):
        return "object" if begin[TYPE_AT:] == OBJECT else ""
    if begin[:BEGIN] in (archives.MAGIC, archives.THIN_MAGIC):
        return "archive"
    return "object" if begin.startswith((MAGIC, WRAPPER_MAGIC)) else ""


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def may_offload(data: Reader) -> bool:
    """Return whether an object or a member of an archive may hold device code or entries.

    The test is fast: an archive may have thousands of members, and most have no offload code.
    """
    return not headers.probe(data) or bool(OFFLOADING.search(headers.section_names(data)))


def _host_parts(
    file: LinkedFile,
    data: Reader,
    archive: Path | None,
    copies: _Copies,
    closed: list[FatBinary],
) -> Iterator[HostPart | DeferredPart]:
    path = file.path
    is_optional = archive is not None and not file.is_whole
    if is_optional and (found := deferrable(path, data, may_offload)):
        lasting = copies.lasting(path, data)
        if lasting is not None:
            parse = partial(_member_part, file, lasting, copies)
            for member in found:
                yield DeferredPart(path, _within(member, lasting), parse)
            return
    for loaded in load_open(path, data, may_offload):
        part = _host_part(loaded, file, data if is_optional else None, copies, closed)
        if part is not None:
            yield part


def _within(member: Member, archive: Reader) -> Member:
    """Return a member that can be read while an archive is open."""
    assert isinstance(member.data, Reader)
    return member._replace(data=archive.slice(member.data.at, len(member.data), "member"))


def _member_part(
    file: LinkedFile, data: Reader, copies: _Copies, member: Member
) -> HostPart | None:
    """Parse a member of an open archive; None if it has no code for devices to link."""
    try:
        for loaded in load_member(file.path, member):
            return _host_part(loaded, file, data, copies, [])
    except FormatError as error:
        raise UsageError(str(error), Path(f"{file.path}({member.name})")) from error
    return None


def _host_part(
    loaded: Loaded,
    file: LinkedFile,
    optional: Reader | None,
    copies: _Copies,
    closed: list[FatBinary],
) -> HostPart | None:
    """Return the part of a loaded file; None if it has no code for devices to link.

    `optional` is the archive whose members are linked on demand.
    """
    path, binary = file.path, loaded.binary
    is_archive = binary.path != str(path)
    found = list(zip(binary.images, loaded.data, strict=True))
    own = [one for one in _distinct(found) if one[0].container not in REGISTERED]
    if found and not (own or binary.entries):
        return None
    is_bitcode = magic.probe(loaded.file)
    if is_bitcode and binary.machine is None and not is_archive:
        return None  # a module without device code
    for fault in (*binary.faults, *binary.limits):
        raise UsageError(fault, Path(binary.path))
    # An object closed by a relocatable link or `omptool bundle` is linked unchanged.
    if binary.descriptors or not (binary.images or binary.entries):
        if binary.imports and not is_archive and binary.abi != "proposal":
            closed.append(binary)
        return None
    # The members of a thin archive are other files.
    lasting = (path, optional) if optional is not None and binary.file == str(path) else None
    parts = tuple(copies.part(binary.path, *one, lasting, is_fixed=optional is None) for one in own)
    member = binary.path.removeprefix(str(path))[1:-1] if is_archive else ""
    part = HostPart(binary.path, binary, parts, path if is_archive else None, member, file.is_whole)
    if loaded.elf is not None:
        part = _with_elf(part, loaded.elf)
    elif is_bitcode and binary.machine is not None:
        part = _with_bitcode(part, loaded)
    return part


def _distinct(
    found: Iterable[tuple[DeviceImage, Reader]],
) -> Iterator[tuple[DeviceImage, Reader]]:
    """Drop code that an object has twice, for two spellings of one triple, as ours for CPUs."""
    seen: list[tuple[DeviceImage, Reader]] = []
    for image, data in found:
        alike = (old for one, old in seen if one.target == image.target and one.size == image.size)
        if not any(old.bytes() == data.bytes() for old in alike):
            seen.append((image, data))
            yield image, data


def _with_elf(part: HostPart, elf: headers.Elf) -> HostPart:
    """Return the part with facts from the file's symbols and comments."""
    names, is_linkable = _host_symbols(elf, part.binary)
    return part._replace(
        entry_symbols=names,
        is_linkable=is_linkable,
        releases=clang_releases(elf),
        requires=requirements.of_object(elf, part.binary.entries),
    )


def _with_bitcode(part: HostPart, loaded: Loaded) -> HostPart:
    """Return the part with facts from the host's module, whose entries are not visible."""
    from packager.formats.device_images.bitcode.module import ENTRIES, linked_names

    _, defined = linked_names(loaded.file)
    return part._replace(
        entry_symbols=tuple(sorted(name for name in defined if name.startswith(ENTRIES))),
        is_linkable=bool(defined),
        releases=part.binary.clangs,
        host_symbols=frozenset(f"({name})" for name in defined),
    )


def _host_symbols(elf: headers.Elf, binary: FatBinary) -> tuple[tuple[str, ...], bool]:
    """Return the symbols of entry records, and whether the file defines any global symbol."""
    sections = {s.number for t in binary.tables for s in elf.named(t.section or "")}
    found = []
    is_linkable = False
    for table in elf.of_type(headers.SHT_SYMTAB):
        names = elf.strings(table.link, "symbol names")
        for symbol in elf.symbols(table):
            if symbol.binding != headers.STB_LOCAL and symbol.is_defined:
                is_linkable = True
                if symbol.section in sections:
                    found.append(names[symbol.name_at])
    return tuple(found), is_linkable


class _Copies:
    """Gives each device image a file of its own in a folder."""

    def __init__(self, folder: Path, opened: ExitStack, *, in_memory: bool) -> None:
        self._folder = folder
        self._files = len(os.listdir(folder))  # noqa: PTH208 - quick
        self._room = MOST_IN_MEMORY
        self._in_memory = in_memory
        self._opened = opened
        self._archives: dict[Path, Reader] = {}

    def part(
        self, origin: str, image: DeviceImage, data: Reader, archive: tuple[Path, Reader] | None,
        *, is_fixed: bool,
    ) -> Part:  # fmt: skip
        """Return an image with its file, named after its origin.

        The bytes are copied at once, unless they are in an `archive` that may stay open. Objects
        are closed because a link may have more of them than a process may open files. Images of
        members that are not `is_fixed` may be deleted.
        """
        stem = Path(origin.replace("(", "-").rstrip(")")).name
        ending = {"bitcode": "bc", "ptx": "ptx", "cubin": "cubin"}.get(image.kind, "o")
        path = self._folder / f"{self._files}-{stem}-{image.target.replace(' ', '-')}.{ending}"
        self._files += 1
        lasting = self.lasting(*archive) if archive and data.is_stored else None
        if lasting is None and len(data) <= min(SMALL, self._room):
            return self._small(origin, image, path, data.bytes(), is_fixed=is_fixed)
        if lasting is None:
            store(path, data.pieces())
            return Part(origin, image, path)
        path.touch()  # reserves the name
        part = lasting.slice(data.at, len(data), "device image")
        return Part(origin, image, path, part, is_stored=False)

    def _small(
        self, origin: str, image: DeviceImage, path: Path, content: bytes, *, is_fixed: bool
    ) -> Part:
        """Return an image whose bytes stay in memory; other linkers than CPUs' look at names."""
        self._room -= len(content)
        is_plain = self._in_memory and is_fixed and image.kind == "elf"
        place = memory_file(content, self._opened) if is_plain else None
        if place is None:
            store(path, [content])
            self._in_memory &= not is_plain
        return Part(origin, image, place or path, Reader(content))

    def lasting(self, path: Path, data: Reader) -> Reader | None:
        """Return the bytes of an archive, kept open unless too many archives are."""
        if path not in self._archives and len(self._archives) < MOST_ARCHIVES:
            fd = os.dup(data.fileno())
            self._opened.callback(os.close, fd)
            self._archives[path] = Reader(File(fd), data.at, len(data))
        return self._archives.get(path)


def device_symbols(part: Part) -> tuple[set[str], set[str]]:
    """Return the undefined names of a device object, and those that it defines for others."""
    with part.opened() as data:
        if part.image.kind == "bitcode":
            from packager.formats.device_images.bitcode.module import linked_names

            return linked_names(data)
        if not headers.probe(data):
            return set(), set()
        elf = headers.read(data)
        missing: set[str] = set()
        found: set[str] = set()
        for table in elf.of_type(headers.SHT_SYMTAB):
            names = elf.strings(table.link, "symbol names")
            for symbol in elf.symbols(table):
                if symbol.name_at and symbol.binding != headers.STB_LOCAL:
                    (found if symbol.is_defined else missing).add(names[symbol.name_at])
        return missing, found
