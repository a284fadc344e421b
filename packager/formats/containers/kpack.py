# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ROCm's kpack (rocm-systems, shared/kpack/docs): archives of the kernels of many libraries.

"KPAK", u32 version, u64 offset of a table in MessagePack: library -> architecture -> ordinal. By
its scheme the n-th image is at the n-th offset, or the n-th of frames with their sizes before them.
A library names in `.rocm_kpack_ref` its name in the archives, and the paths of these. The table has
an entry for each of the library's fat binaries: "lib/libone.so#0", "lib/libone.so#1".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

from packager.errors import FormatError, LimitError
from packager.files import msgpack
from packager.files.names import text
from packager.files.reader import NewerError, Reader
from packager.formats.containers import zstd_frame
from packager.formats.containers.payload import Payload

NAME = "kpack"
MAGIC = b"KPAK"
HEADER = Struct("<4sIQ")  # magic, version, where the table is
VERSION = 1
WORD = Struct("<I")
PLAIN, FRAMES = "none", "zstd-per-kernel"
TRIPLE = "amdgcn-amd-amdhsa"
MAX_TABLE, MAX_IMAGES = 1 << 26, 1 << 20
# Sections in which a library names its archives, in ELF and in Windows' files.
SECTION, SECTION_OF_COFF = ".rocm_kpack_ref", ".kpackrf"
ANY_ARCH = "@GFXARCH@"  # stands for the GPU's architecture in the path of an archive
NUMBER = "#"  # precedes the number of a library's fat binary
MAX_REFERENCE = 1 << 16

Locate = Callable[[int], tuple[Reader, Reader | None]]  # the image, and its frame in the file


def probe(data: Reader) -> bool:
    """Return whether `data` begins with an archive."""
    return data.starts_with(MAGIC)


def parse(data: Reader) -> Iterator[Payload]:
    """Yield the images of an archive. Raises FormatError if it is malformed."""
    table = _table(data)
    locate = _scheme(data, table)
    count = 0
    for library, archs in _map(table.get("toc"), "toc").items():
        unit = None
        for arch, row in _map(archs, "library").items():
            count += 1
            if count > MAX_IMAGES:
                raise LimitError(f"more than {MAX_IMAGES} images in the kpack at {data.at:#x}")
            image, stored = locate(_number(_map(row, "image"), "ordinal"))
            unit = (stored or image).at if unit is None else unit
            yield Payload(
                image,
                TRIPLE,
                _text(arch),
                compression="zstd" if stored else None,
                stored=stored,
                within=(f"{NAME}({_text(library)})",),
                producer="hip",
                unit=unit,
            )


def architectures(data: Reader, library: str) -> tuple[str, ...]:
    """Return the architectures that an archive has images of a library for."""
    libraries = _map(_table(data).get("toc"), "toc")
    mine = (archs for name, archs in libraries.items() if _is_of(_text(name), library))
    return tuple(dict.fromkeys(_text(arch) for archs in mine for arch in _map(archs, "library")))


def _is_of(name: str, library: str) -> bool:
    """Return whether an entry of the table is for one of a library's fat binaries."""
    first, _, number = name.rpartition(NUMBER)
    return name == library or (first == library and number.isdecimal())


def reference(data: Reader) -> tuple[str, tuple[str, ...]]:
    """Return a library's name in archives, and their paths. Raises FormatError when malformed."""
    if len(data) > MAX_REFERENCE:
        raise FormatError(f"section {SECTION} of {len(data)} bytes is too large to be real")
    found = _map(msgpack.decode(data.bytes(what=SECTION)), "reference")
    paths = found.get("kpack_search_paths")
    if not isinstance(paths, list) or not isinstance(found.get("kernel_name"), str):
        raise FormatError(f"section {SECTION} names no library and no archives")
    return _text(found["kernel_name"]), tuple(_text(path) for path in paths)


def _table(data: Reader) -> dict[str, Any]:
    _, version, at = data.unpack(HEADER, 0, "kpack header")
    if version != VERSION:
        message = f"kpack at {data.at:#x} has version {version}; version {VERSION} is read"
        raise NewerError(message, data)
    if at > len(data) or len(data) - at > MAX_TABLE:
        raise FormatError(f"kpack at {data.at:#x} has no table at {at:#x}")
    return _map(msgpack.decode(data.bytes(at, len(data) - at, "table of the kpack")), "table")


def _scheme(data: Reader, table: dict[str, Any]) -> Locate:
    scheme = table.get("compression_scheme", PLAIN)
    if scheme == PLAIN:
        return _plain(data, table)
    if scheme == FRAMES:
        return _frames(data, table)
    where = f"kpack at {data.at:#x}"
    raise NewerError(f"{where} has the unknown compression {_text(scheme)!r}", data)


def _plain(data: Reader, table: dict[str, Any]) -> Locate:
    rows = table.get("blobs")
    places = rows if isinstance(rows, list) else []

    def locate(ordinal: int) -> tuple[Reader, None]:
        _expect(data, ordinal, len(places))
        row = _map(places[ordinal], "image")
        what = f"image {ordinal} of the kpack"
        return data.slice(_number(row, "offset"), _number(row, "size"), what), None

    return locate


def _frames(data: Reader, table: dict[str, Any]) -> Locate:
    start, size = _number(table, "zstd_offset"), _number(table, "zstd_size")
    block = data.slice(start, size, "images of the kpack")
    (count,) = block.unpack(WORD, 0, "count of the kpack's images")
    if count > len(block) // WORD.size:
        raise FormatError(f"kpack at {data.at:#x} claims {count} images")
    frames, at = [], WORD.size
    for number in range(count):
        (stored,) = block.unpack(WORD, at, f"size of image {number} of the kpack")
        frames.append(block.slice(at + WORD.size, stored, f"image {number} of the kpack"))
        at += WORD.size + stored

    def locate(ordinal: int) -> tuple[Reader, Reader]:
        _expect(data, ordinal, len(frames))
        (image,) = zstd_frame.parse(frames[ordinal])
        return image.image, frames[ordinal]

    return locate


def _expect(data: Reader, ordinal: int, count: int) -> None:
    if ordinal >= count:
        raise FormatError(f"kpack at {data.at:#x} has no image {ordinal}; it has {count}")


def _number(row: dict[str, Any], name: str) -> int:
    value = row.get(name)
    if type(value) is not int or value < 0:
        raise FormatError(f"the kpack's table has no number {name}")
    return value


def _map(value: object, what: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise FormatError(f"the kpack has no map for its {what}")


def _text(value: object) -> str:
    return text(str(value).encode("utf-8", "surrogateescape"))
