# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read containers in containers, down to the images, and past malformed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from packager.elf import headers
from packager.errors import FormatError
from packager.files.reader import NewerError, Reader
from packager.formats.compressed import helper
from packager.formats.containers import archive, opencl_elf
from packager.formats.containers import known as containers
from packager.formats.containers.payload import Damage, Payload
from packager.model import Contents, Level

Parse = Callable[[Reader], Iterator[Payload]]

# Deepest nesting that is read. Tools nest less: a module in a file in ocloc's compressed archive
# has depth three.
MAX_DEPTH = 4
# Most malformed parts of a container; with more it does not count as a container.
MAX_DAMAGE = 64
MAX_BLANK = 1 << 12  # bytes of a member that only aligns the next one


def payloads(parse: Parse, data: Reader) -> Iterator[Payload | Damage]:
    """Yield the images in a container and in nested ones, and the parts that cannot be read."""
    for item in _past_damage(parse, data):
        if isinstance(item, Damage):
            yield item
        else:
            yield from opened(item)


def _past_damage(parse: Parse, data: Reader) -> Iterator[Payload | Damage]:
    """Yield the payloads that `parse` finds; resume after malformed parts with a known end."""
    rest = data
    for _ in range(MAX_DAMAGE):
        try:
            yield from parse(rest)
            return
        except FormatError as error:
            yield _unread(error)
            if error.resume is None or not rest.at < error.resume < data.at + len(data):
                return
            start = error.resume - data.at
            rest = data.slice(start, len(data) - start, "container")
    yield Damage(f"container at {data.at:#x} has more than {MAX_DAMAGE} malformed parts")


def _unread(error: FormatError) -> Payload | Damage:
    """Return a part's replacement: damage, or the whole part if its format is newer."""
    if isinstance(error, NewerError):
        contents = Contents("unknown", is_opaque=True, newer=str(error))
        return Payload(error.part, contents=contents, version=error.version)
    return Damage(str(error))


def opened(outer: Payload, depth: int = 1) -> Iterator[Payload | Damage]:
    """Yield the images in an image that is a container; any other image itself."""
    found = None if outer.contents or outer.is_text else _container(outer.image)
    if found is None:
        yield outer
        return
    name, parse = found
    if depth == MAX_DEPTH:
        where = f"{name} at {outer.image.at:#x}"
        yield Damage(f"{where}: containers are nested more than {MAX_DEPTH} deep")
        return
    outer.image.context.opened(len(outer.image), outer.image.whole * MAX_DEPTH)
    is_empty = True
    for item in _past_damage(parse, outer.image):
        if isinstance(item, Damage):
            yield Damage(f"{name} in a container: {item.message}")
            continue
        is_empty = False
        yield from opened(_inherited(outer, item, name), depth + 1)
    if is_empty:  # a descriptor may refer to the empty container
        yield outer


def _container(data: Reader) -> tuple[str, Parse] | None:
    if not len(data) or helper.is_answered(data):
        return None
    if headers.probe(data):
        return (opencl_elf.NAME, opencl_elf.parse) if opencl_elf.probe(data) else None
    if archive.probe(data):
        return archive.NAME, _members
    found = containers.of_file(data)
    return (found.NAME, found.parse) if found else None


def _members(data: Reader) -> Iterator[Payload]:
    """Yield the members of an archive; none for a thin archive, which only names files.

    Intel's ocloc aligns members by blank ones, which are skipped.
    """
    for member in archive.members(data):
        if member.data is not None and not _is_blank(member.data):
            yield Payload(member.data, within=(f"{archive.NAME}({member.name})",))


def _is_blank(data: Reader) -> bool:
    return 0 < len(data) <= MAX_BLANK and not data.bytes().strip(b" \0")


def _inherited(outer: Payload, inner: Payload, name: str) -> Payload:
    """Return `inner` with the parts of its container's target that it does not name.

    If both are compressed, the outer compressed bytes are in the file.
    """
    unit = outer.stored.at if outer.unit is None and outer.stored else outer.unit
    return inner._replace(
        triple=inner.triple or outer.triple,
        arch=inner.arch or outer.arch,
        features=inner.features or outer.features,
        compression=outer.compression or inner.compression,
        stored=outer.stored or inner.stored,
        within=outer.within + (inner.within or (name,)),
        levels=(*outer.levels, _level(outer, name)),
        producer=inner.producer or outer.producer,
        unit=inner.unit if unit is None else unit,
        place=outer.place,
    )


def _level(outer: Payload, name: str) -> Level:
    """Return the container as a level of nesting, with the attributes of its container's record."""
    offset = outer.image.at if outer.stored is None else None
    size = len(outer.image)
    return Level(name, outer.triple, outer.arch, outer.declared_kind, offset, size)
