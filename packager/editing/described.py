# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The descriptor that an edit changes, and the images that it lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct

from packager.editing.linked import LinkedFile
from packager.editing.request import name_of, triple_of
from packager.elf.headers import Section
from packager.errors import FormatError, UsageError
from packager.layouts import DEVICE_IMAGE, PROPOSAL_IMAGE, PROPOSAL_REGISTER, WRITTEN
from packager.model import Abi, Descriptor, DeviceImage, FatBinary, ImageRecords, Place
from packager.records import NamedTuple

GCCS = "its images are GCC's, which pairs images by order and counts them in its own records"


class Held(NamedTuple):
    """An image in the descriptor's list: the range of its record, and its container."""

    image: DeviceImage
    start: int  # addresses, as the record has them
    end: int
    section: Section | None
    offset: int  # file offset of the image, with a container that holds it alone
    size: int

    @property
    def triple(self) -> str:
        """Return the triple that the image is for."""
        return triple_of(self.image)

    @property
    def name(self) -> str:
        """Return its name in a sentence."""
        return name_of(self.image)


class Form(NamedTuple):
    """The container in which an edit puts its images."""

    wraps: bool  # records are of the container around an image
    version: int  # the container's version


class Described(NamedTuple):
    """A descriptor, and the images that it lists in their order."""

    address: int
    records: int  # address of the records of images
    begin: int  # address of the first entry
    end: int
    record: Struct
    form: Form
    images: tuple[Held, ...]


def described(file: LinkedFile, binary: FatBinary, number: int | None) -> Described:
    """Return the descriptor to edit. Raises UsageError if it is ambiguous or not OpenMP's."""
    _expect_openmp(binary)
    found = [d for d in binary.descriptors if d.address is not None]
    if number is not None:
        if number >= len(found):
            numbers = " or ".join(map(str, range(len(found)))) or "none"
            raise UsageError(f"no descriptor {number}; --descriptor takes {numbers}")
        return _resolved(file, binary, found[number])
    if len(found) > 1:
        numbers = ", ".join(map(str, range(len(found))))
        raise UsageError(f"has {len(found)} descriptors: choose one by --descriptor ({numbers})")
    return _resolved(file, binary, found[0])


def _expect_openmp(binary: FatBinary) -> None:
    if binary.abi == "gcc":
        raise UsageError(f"{GCCS}: omptool does not edit them")
    if binary.descriptors:
        return
    if binary.tables:
        raise UsageError("has entries, but no descriptor: `omptool bundle` registers it")
    raise UsageError("has no descriptor of device images: `omptool bundle` gives it one")


def _resolved(file: LinkedFile, binary: FatBinary, wanted: Descriptor) -> Described:
    """Return the descriptor with the containers of its images."""
    address, records = wanted.address, wanted.records
    begin, end = wanted.entries_begin, wanted.entries_end
    if address is None or records is None or begin is None or end is None:
        raise FormatError(f"the descriptor at {wanted.offset:#x} has no addresses of its own")
    if len(records.ranges) != len(wanted.images):
        raise FormatError(
            f"only {len(wanted.images)} of the descriptor's {len(records.ranges)} images are"
            " readable"
        )
    images = tuple(_held(file, binary, records, wanted.images))
    record = PROPOSAL_IMAGE if records.size == PROPOSAL_IMAGE.size else DEVICE_IMAGE
    form = _form(images, _abi(binary, begin))
    return Described(address, records.address, begin, end, record, form, images)


def _form(images: Sequence[Held], abi: Abi | None) -> Form:
    """Return the ABI's form; existing images decide whether containers are registered."""
    written = WRITTEN.get(abi or "", WRITTEN["interface"])
    wraps = images[0].image.is_wrapped if images else written.is_wrapped
    return Form(wraps, written.container_version)


def _abi(binary: FatBinary, begin: int) -> Abi | None:
    for table in binary.tables:
        if table.address is not None and table.address <= begin <= table.address + table.size:
            return table.abi
    return "proposal" if PROPOSAL_REGISTER in binary.imports else binary.abi


def _held(
    file: LinkedFile, binary: FatBinary, records: ImageRecords, indices: tuple[int, ...]
) -> Iterator[Held]:
    for (start, end), index in zip(records.ranges, indices, strict=True):
        offset = file.elf.offset(start, end - start)
        if offset is None:
            raise FormatError(f"device image at {start:#x} is not in the file")
        image = binary.images[index]
        place = _place(image, Place(offset, end - start))
        yield Held(image, start, end, file.section_at(start), *place)


def _place(image: DeviceImage, listed: Place) -> Place:
    """Return the place of an image and of the container that holds it alone."""
    around = image.container_place
    if around is None or listed.offset < around.offset:
        return listed
    return around if listed.offset + listed.size <= around.offset + around.size else listed
