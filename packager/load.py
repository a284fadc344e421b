"""A file to FatBinaries: what kind of file it is, and who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from packager import elf
from packager.errors import FormatError
from packager.formats import archive, containers, images
from packager.host import read_host
from packager.model import DeviceImage, FatBinary
from packager.reader import Reader, open_input, open_reader


class Loaded(NamedTuple):
    """What a file or a member of an archive says, and the bytes of its images, in their order.

    The bytes can be read until the next one is asked for.
    """

    binary: FatBinary
    data: Sequence[Reader]


def load(path: Path, *, hashed: bool = False) -> FatBinary:
    """What the file at `path`, which is no archive, says about offloading.

    Image bytes are not read but for their headers, symbols and tables, and for `hashed`, which adds
    the SHA-256 of each image. Raises FormatError, without the file's name, when the file cannot be
    read or is malformed.
    """
    with open_reader(path) as data:
        if archive.probe(data):
            raise FormatError("is an archive")
        return _load(str(path), data, hashed).binary


def load_all(path: Path, *, hashed: bool = False) -> Iterator[Loaded]:
    """The same of any file: of an archive, what each member with offload code says.

    An archive without any is one empty FatBinary. A member's path is "libk.a(k.o)".
    """
    with open_input(path) as data:
        if not archive.probe(data):
            yield _load(str(path), data, hashed)
            return
        found = False
        for member in archive.members(data):
            for loaded in _member(path, member, hashed):
                found = True
                yield loaded
        if not found:
            yield _bare(str(path), ())


def _member(path: Path, member: archive.Member, hashed: bool) -> Iterator[Loaded]:
    name = f"{path}({member.name})"
    if member.data is not None:
        yield from _load_member(name, member, member.data, hashed)
        return
    try:
        opened = open_reader(path.parent / member.name)
        with opened as data:
            yield from _load_member(name, member, data, hashed)
    except FormatError as error:
        raise FormatError(f"member {member.name}: {error}") from error


def _load_member(name: str, member: archive.Member, data: Reader, hashed: bool) -> Iterator[Loaded]:
    """Nothing for a member of another kind: archives hold what they like."""
    if not elf.probe(data) and not containers.of_file(data):
        return
    binary, readers = _load(name, data, hashed)
    if not binary.is_empty:
        named = (replace(image, member=member.name) for image in binary.images)
        yield Loaded(replace(binary, images=tuple(named)), readers)


def _load(path: str, data: Reader, hashed: bool) -> Loaded:
    if not len(data):
        raise FormatError("is empty")
    if not elf.probe(data):
        return _bare(path, _bare_images(data, hashed))
    file = elf.read(data)
    if not elf.is_foreign(file) and (host := read_host(path, file, hashed=hashed)):
        return Loaded(*host)
    return _bare(path, [(images.inspect_image(data, index=0, hashed=hashed), data)])


def _bare(path: str, found: Iterable[tuple[DeviceImage, Reader]]) -> Loaded:
    pairs = list(found)
    of_no_host = FatBinary(path, None, None, None, tuple(image for image, _ in pairs), (), ())
    return Loaded(of_no_host, [data for _, data in pairs])


def _bare_images(data: Reader, hashed: bool) -> Iterator[tuple[DeviceImage, Reader]]:
    """A file that is not ELF: a container, or one device image."""
    container = containers.of_file(data)
    if container is not None:
        for index, payload in enumerate(container.parse(data)):
            image = images.from_payload(payload, index, container.NAME, None, hashed)
            yield image, payload.image
    elif images.is_image(data):
        yield images.inspect_image(data, index=0, hashed=hashed), data
    else:
        raise FormatError("is neither an ELF file nor a device image of a known format")
