"""A file to FatBinaries: what kind of file it is, and who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from packager import elf
from packager.errors import FormatError
from packager.formats import archive, containers, images
from packager.host import read_host
from packager.model import DeviceImage, FatBinary
from packager.reader import Reader, open_reader


def load(path: Path, *, hashed: bool = False) -> FatBinary:
    """What the file at `path`, which is no archive, says about offloading.

    Image bytes are not read but for their headers, symbols and tables, and for `hashed`, which adds
    the SHA-256 of each image. Raises FormatError, without the file's name, when the file cannot be
    read or is malformed.
    """
    with open_reader(path) as data:
        if archive.probe(data):
            raise FormatError("is an archive")
        return _load(str(path), data, hashed)


def load_all(path: Path, *, hashed: bool = False) -> Iterator[FatBinary]:
    """The same of any file: of an archive, what each member with offload code says.

    An archive without any is one empty FatBinary. A member's path is "libk.a(k.o)".
    """
    with open_reader(path) as data:
        if not archive.probe(data):
            yield _load(str(path), data, hashed)
            return
        found = False
        for member in archive.members(data):
            for binary in _member(path, member, hashed):
                found = True
                yield binary
        if not found:
            yield _bare(str(path), ())


def _member(path: Path, member: archive.Member, hashed: bool) -> Iterator[FatBinary]:
    name = f"{path}({member.name})"
    try:
        if member.data is not None:
            binary = _load_member(name, member.data, hashed)
        else:
            with open_reader(path.parent / member.name) as data:
                binary = _load_member(name, data, hashed)
    except FormatError as error:
        raise FormatError(f"member {member.name}: {error}") from error
    if binary is not None and not binary.is_empty:
        named = (replace(image, member=member.name) for image in binary.images)
        yield replace(binary, images=tuple(named))


def _load_member(name: str, data: Reader, hashed: bool) -> FatBinary | None:
    """None for a member of another kind: archives hold what they like."""
    if elf.probe(data) or containers.of_file(data):
        return _load(name, data, hashed)
    return None


def _load(path: str, data: Reader, hashed: bool) -> FatBinary:
    if not len(data):
        raise FormatError("is empty")
    if not elf.probe(data):
        return _bare(path, _bare_images(data, hashed))
    file = elf.read(data)
    if elf.is_foreign(file):
        return _bare(path, [images.inspect_image(data, index=0, hashed=hashed)])
    host = read_host(path, file, hashed=hashed)
    if host is None:
        return _bare(path, [images.inspect_image(data, index=0, hashed=hashed)])
    return host


def _bare(path: str, found: Iterable[DeviceImage]) -> FatBinary:
    return FatBinary(path, None, None, None, tuple(found), (), ())


def _bare_images(data: Reader, hashed: bool) -> list[DeviceImage]:
    """A file that is not ELF: a container, or one device image."""
    container = containers.of_file(data)
    if container is not None:
        return [
            images.from_payload(payload, index, container.NAME, None, hashed)
            for index, payload in enumerate(container.parse(data))
        ]
    if images.is_image(data):
        return [images.inspect_image(data, index=0, hashed=hashed)]
    raise FormatError("is neither an ELF file nor a device image of a known format")
