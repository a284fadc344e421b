"""A file to a FatBinary: what kind of file it is, and who reads it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from packager import elf
from packager.errors import FormatError
from packager.formats import images, llvm_offloading, offload_binary, unread
from packager.host import read_host
from packager.model import DeviceImage, FatBinary
from packager.reader import Reader, open_reader


def load(path: Path, *, hashed: bool = False) -> FatBinary:
    """What the file at `path` says about offloading; `hashed` adds the SHA-256 of each image.

    Image bytes are not read but for their headers, symbols and tables (and for `hashed`). Raises
    FormatError, without the file's name, when the file cannot be read or is malformed.
    """
    with open_reader(path) as data:
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


def _bare(path: Path, found: Iterable[DeviceImage]) -> FatBinary:
    return FatBinary(str(path), None, None, None, tuple(found), (), ())


def _bare_images(data: Reader, hashed: bool) -> list[DeviceImage]:
    """A file that is not ELF: OffloadBinaries, or one device image."""
    kind = unread.file_kind(data)
    if kind:
        raise FormatError(f"is {kind}, which this version does not read")
    if offload_binary.probe(data):
        return [
            images.from_blob(blob, index, llvm_offloading.NAME, None, hashed)
            for index, blob in enumerate(offload_binary.parse(data))
        ]
    if images.is_image(data):
        return [images.inspect_image(data, index=0, hashed=hashed)]
    raise FormatError("is neither an ELF file nor a device image of a known format")
