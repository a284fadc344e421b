# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The descriptor that an edit changes, and the images that it lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from packager.editing.linked import LinkedFile
from packager.elf.address_space import read_window
from packager.elf.headers import Section
from packager.elf.relocated import Range, Window
from packager.errors import FormatError, UsageError
from packager.formats.containers import llvm_offloading, offload_binary, omptool_section
from packager.formats.host_records.descriptors import (
    DESCRIPTOR_BEGIN,
    DESCRIPTOR_END,
    DESCRIPTOR_IMAGES,
    IMAGE_END,
    MAX_IMAGES,
)
from packager.layouts import BIN_DESC, DEVICE_IMAGE, PROPOSAL_IMAGE, PROPOSAL_REGISTER, WRITTEN
from packager.model import Abi, Descriptor, DeviceImage, FatBinary
from packager.triples import normalise

# Descriptors of others, which their own runtimes read.
OTHERS = {
    "gcc": "GCC's, which pairs images by order and counts them in its own records",
    "cuda": "CUDA's: its runtime gets one fat binary",
    "hip": "HIP's: its runtime gets one fat binary",
    "sycl": "SYCL's: its records name properties and symbols of each image",
}


class Held(NamedTuple):
    """An image that the descriptor lists: where its record points, and what is around it."""

    image: DeviceImage
    start: int  # addresses, as the record has them
    end: int
    section: Section | None
    offset: int  # in the file: the image and the container that is its alone
    size: int

    @property
    def triple(self) -> str:
        """Its triple; clang 14 writes none, then it is that of its code."""
        return self.image.triple or normalise(self.image.contents.machine or "unknown")

    @property
    def name(self) -> str:
        """Return its name in a sentence."""
        return f"image {self.image.index} ({self.image.target})"


class Form(NamedTuple):
    """The container that an edit puts around the images that it adds."""

    wraps: bool  # records are of the container around an image
    version: int  # of that container


class Described(NamedTuple):
    """A descriptor, and the images that it lists in their order."""

    address: int
    records: int  # where the records of images are
    begin: int  # of the entries
    end: int
    record: Struct
    form: Form
    images: tuple[Held, ...]


def described(file: LinkedFile, binary: FatBinary, number: int | None) -> Described:
    """The descriptor to edit. Raises UsageError when it is not clear which, or not OpenMP's."""
    _expect_openmp(binary)
    found = [d for d in binary.descriptors if d.address is not None]
    if number is not None:
        if number >= len(found):
            numbers = " or ".join(map(str, range(len(found)))) or "none"
            raise UsageError(f"no descriptor {number}; --descriptor takes {numbers}")
        return _read(file, binary, found[number])
    if len(found) > 1:
        numbers = ", ".join(map(str, range(len(found))))
        raise UsageError(f"has {len(found)} descriptors: choose one by --descriptor ({numbers})")
    return _read(file, binary, found[0])


def _expect_openmp(binary: FatBinary) -> None:
    if binary.abi == "gcc":
        raise UsageError(f"its images are {OTHERS['gcc']}: they are not edited")
    if binary.descriptors:
        return
    for registration in binary.registrations:
        what = OTHERS.get(registration.model, "another model's")
        raise UsageError(f"its images are {what}: they are not edited")
    if binary.tables:
        raise UsageError("has entries, but no descriptor: `omptool bundle` registers it")
    raise UsageError("has no descriptor of device images: `omptool bundle` gives it one")


def _read(file: LinkedFile, binary: FatBinary, wanted: Descriptor) -> Described:
    address = wanted.address or 0
    window = read_window(file.space, Range(address, BIN_DESC.size, "offload descriptor"))
    count, at = window.half(0), window.pointer(DESCRIPTOR_IMAGES)
    begin, end = window.pointer(DESCRIPTOR_BEGIN), window.pointer(DESCRIPTOR_END)
    if at is None or begin is None or end is None or count > MAX_IMAGES:
        raise FormatError(f"the descriptor at {address:#x} has no addresses of its own")
    abi = _abi(binary, begin)
    record = PROPOSAL_IMAGE if abi == "proposal" else DEVICE_IMAGE
    # One that lists none leads nowhere.
    place = Range(at if count else begin, count * record.size, "device image records")
    array = read_window(file.space, place)
    if count != len(wanted.images):
        raise FormatError(
            f"only {len(wanted.images)} of the descriptor's {count} images are readable"
        )
    images = tuple(_held(file, binary, array, record.size, wanted.images))
    return Described(address, at, begin, end, record, _form(images, abi), images)


def _form(images: Sequence[Held], abi: Abi | None) -> Form:
    """Return the ABI's form; what is registered is what the images that are there say."""
    written = WRITTEN.get(abi or "", WRITTEN["interface"])
    wraps = images[0].image.is_wrapped if images else written.is_wrapped
    return Form(wraps, written.container_version)


def _abi(binary: FatBinary, begin: int) -> Abi | None:
    for table in binary.tables:
        if table.address is not None and table.address <= begin <= table.address + table.size:
            return table.abi
    return "proposal" if PROPOSAL_REGISTER in binary.imports else binary.abi


def _held(
    file: LinkedFile, binary: FatBinary, array: Window, record: int, indices: tuple[int, ...]
) -> Iterator[Held]:
    for number, index in enumerate(indices):
        start, end = array.pointer(number * record), array.pointer(number * record + IMAGE_END)
        if start is None or end is None or end < start:
            raise FormatError(f"record {number} of the device images has no addresses")
        offset = file.elf.offset(start, end - start)
        if offset is None:
            raise FormatError(f"device image at {start:#x} is not in the file")
        image, section = binary.images[index], file.section_at(start)
        around = _around(file, section, offset, end - start)
        yield Held(image, start, end, section, *around)


def _around(file: LinkedFile, section: Section | None, offset: int, size: int) -> tuple[int, int]:
    """The range in the file of an image and of the container that holds it alone."""
    if section is None or section.offset > offset:
        return offset, size
    if omptool_section.claims(section) and section.offset + section.size >= offset + size:
        return section.offset, section.size
    if llvm_offloading.claims(section):
        return _blob(file, section, offset, size)
    return offset, size


def _blob(file: LinkedFile, section: Section, offset: int, size: int) -> tuple[int, int]:
    """The OffloadBinary of a section that an image is in, if it is its alone."""
    data = file.elf.content(section)
    at = 0
    while at + offload_binary.HEADER.size <= len(data):
        magic, version, length, _, count = data.unpack(offload_binary.HEADER, at, "OffloadBinary")
        if magic != offload_binary.MAGIC or length < offload_binary.HEADER.size:
            break
        padded = -(-length // offload_binary.ALIGNMENT) * offload_binary.ALIGNMENT
        if section.offset + at <= offset and offset + size <= section.offset + at + padded:
            if version > 1 and count > 1:
                break
            return section.offset + at, min(padded, section.size - at)
        at += padded
    return offset, size
