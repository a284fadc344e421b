# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find `sycl_device_binaries_struct`: images that SYCL programs pass to `__sycl_register_lib`.

The layouts are in intel/llvm's `compiler.hpp`. A descriptor is found from the images that `.tgtimg`
lists, or that LLVM's linker wrapper puts into `.llvm.offloading`, one after the other: records hold
their addresses, and it holds the address of the first record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from packager.elf.address_space import Space
from packager.elf.headers import WORD
from packager.elf.relocated import Range, Window
from packager.errors import FormatError
from packager.layouts import SYCL_BINARIES, SYCL_BINARY, SyclBinary
from packager.model import ImageKind
from packager.records import NamedTuple

NAME = "sycl"
MAX_CANDIDATES = 1 << 18
# Kinds of images by a record's format; native code and compressed images have no format.
FORMATS: dict[int, ImageKind] = {2: "spirv", 3: "bitcode"}


class BinaryImage(NamedTuple):
    """The place of an image, and the declarations of its record."""

    start: int
    end: int
    target: str  # "spir64", "spir64_gen"; "" where the record names none
    kind: ImageKind | None


class FoundBinaries(NamedTuple):
    """A descriptor, in addresses of its Space."""

    address: int
    images: tuple[BinaryImage, ...]
    records: int  # the address of the first record
    record_size: int


def find(space: Space, images: Collection[int]) -> list[FoundBinaries]:
    """Return the descriptors that refer to images at these addresses, in address order."""
    if not images:
        return []
    begins = {layout.image for layout in SYCL_BINARY.values()}
    records = {place - begin for place, _ in space.places(images) for begin in begins}
    heads = sorted({place - SYCL_BINARIES.records for place, _ in space.places(records)})
    if len(heads) > MAX_CANDIDATES:
        raise FormatError(f"{len(heads)} places look like a descriptor of SYCL's")
    return list(_checked(space, heads))


def _checked(space: Space, candidates: Sequence[int]) -> Iterator[FoundBinaries]:
    """Yield the candidates whose records are consistent."""
    heads = [w for w in _windows(space, candidates, SYCL_BINARIES.size) if _is_head(w)]
    firsts = _windows(space, [_records(head) for head in heads], WORD.size)
    layouts = {first.address: SYCL_BINARY.get(first.word(0) & 0xFFFF) for first in firsts}
    wanted = [
        (head.address, Range(_records(head), layout.size * _count(head), "records of SYCL's"))
        for head in heads
        if (layout := layouts.get(_records(head)))
    ]
    wanted = [(at, array) for at, array in wanted if space.offset(*array[:2]) is not None]
    arrays = space.windows([array for _, array in wanted])
    for (address, _), array in zip(wanted, arrays, strict=True):
        layout = layouts[array.address]
        images = _images(space, array, layout) if layout else None
        if layout and images is not None:
            yield FoundBinaries(address, images, array.address, layout.size)


def _windows(space: Space, addresses: Sequence[int], size: int) -> list[Window]:
    inside = (at for at in addresses if space.offset(at, size) is not None)
    return space.windows([Range(at, size, "descriptor of SYCL's") for at in inside])


def _is_head(window: Window) -> bool:
    is_version = window.half(0) & 0xFFFF == SYCL_BINARIES.version and not window.half(4)
    return is_version and _count(window) > 0 and bool(window.pointer(SYCL_BINARIES.records))


def _count(head: Window) -> int:
    return head.half(0) >> 16


def _records(head: Window) -> int:
    return head.pointer(SYCL_BINARIES.records) or 0


def _images(space: Space, array: Window, layout: SyclBinary) -> tuple[BinaryImage, ...] | None:
    """Return the images of an array of records; None if one record is invalid."""
    images = []
    for at in range(0, len(array.data), layout.size):
        version, kind, form = array.half(at) & 0xFFFF, array.data[at + 2], array.data[at + 3]
        start, end = array.pointer(at + layout.image), array.pointer(at + layout.image + WORD.size)
        if (
            version != layout.version
            or kind not in layout.kinds
            or not start
            or not end
            or start > end
        ):
            return None
        if space.offset(start, end - start) is None:
            return None
        target = _text(space, array.pointer(at + layout.target))
        images.append(BinaryImage(start, end, target, FORMATS.get(form)))
    return tuple(images)


def _text(space: Space, address: int | None) -> str:
    offset = space.offset(address) if address else None
    return "" if offset is None else space.elf.data.string(offset, "target of a SYCL image")
