"""The device images in a host file: in sections of their own, or where a descriptor points."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from packager.errors import FormatError
from packager.formats import containers, images, offload_binary
from packager.formats.descriptors import FoundDescriptor, ImageRange
from packager.formats.payload import Payload
from packager.memory import Space
from packager.model import DeviceImage
from packager.reader import Reader

# What holds an image that only a descriptor names.
RAW = "raw"
# More than any real file has: its images are of a few triples and some dozen archs.
MAX_IMAGES = 4096


class PlacedImage(NamedTuple):
    """An image, and the address at which pointers of its file find it."""

    image: DeviceImage
    place: int | None  # None in a section that is not loaded
    data: Reader


def in_sections(memory: Space, *, hashed: bool) -> list[PlacedImage]:
    """The images in sections that a container claims, in file order."""
    found: list[PlacedImage] = []
    for section in memory.elf.sections:
        container = containers.of_section(section)
        if container is None:
            continue
        for payload in container.parse_section(section, memory.elf.content(section)):
            if len(found) == MAX_IMAGES:
                raise FormatError(f"more than {MAX_IMAGES} device images")
            stored = payload.stored or payload.image
            inside = stored.at - memory.elf.data.at - section.offset
            place = memory.address(section) + inside if section.is_allocated else None
            address = None if memory.elf.is_object else place
            image = images.from_payload(payload, len(found), container.NAME, address, hashed)
            found.append(PlacedImage(image, place, payload.image))
    return found


def elsewhere(
    memory: Space,
    described: Sequence[FoundDescriptor],
    found: Sequence[PlacedImage],
    *,
    hashed: bool,
) -> list[PlacedImage]:
    """The images that descriptors point to and no container holds."""
    known = Places(found)
    added: dict[int, PlacedImage] = {}
    for at in (image for descriptor in described for image in descriptor.images):
        if at.start in added or known.index(at) is not None:
            continue
        offset = memory.offset(at.start, at.end - at.start)
        if offset is None or len(added) == MAX_IMAGES:
            raise FormatError(f"device image at address {at.start:#x} is not in the file")
        added[at.start] = _registered(memory, at, offset, len(found) + len(added), hashed)
    return list(added.values())


def _registered(
    memory: Space, at: ImageRange, offset: int, index: int, hashed: bool
) -> PlacedImage:
    """The image at file offset `offset`, which a descriptor names."""
    size = at.end - at.start
    payload = offload_binary.around(memory.elf.data, offset, size)
    name = offload_binary.NAME if payload else RAW
    payload = payload or Payload(memory.elf.data.slice(offset, size, "device image"))
    place = at.start + payload.image.at - memory.elf.data.at - offset
    address = None if memory.elf.is_object else place
    image = images.from_payload(payload, index, name, address, hashed)
    return PlacedImage(image, place, payload.image)


def numbered(
    found: Sequence[PlacedImage], described: Sequence[FoundDescriptor]
) -> list[PlacedImage]:
    """The images in the order of the descriptors, which is that of devices; others after them.

    Linkers sort sections as they like: mold by alignment and size.
    """
    places = Places(found)
    order: dict[int, None] = {}
    for at in (image for descriptor in described for image in descriptor.images):
        index = places.index(at)
        if index is not None:
            order[index] = None
    order |= dict.fromkeys(range(len(found)))
    return [
        found[old]._replace(image=replace(found[old].image, index=new))
        for new, old in enumerate(order)
    ]


def marked(
    found: Sequence[PlacedImage], described: Sequence[FoundDescriptor]
) -> tuple[DeviceImage, ...]:
    """The images, with those marked that are registered with the container around them."""
    places = Places(found)
    starts = {item.place for item in found}
    wrapped = {
        places.index(at)
        for descriptor in described
        for at in descriptor.images
        if at.start not in starts
    }
    return tuple(replace(i.image, is_wrapped=i.image.index in wrapped) for i in found)


class Places:
    """Finds the image that a descriptor means."""

    def __init__(self, found: Sequence[PlacedImage]) -> None:
        self._at = {item.place: item.image.index for item in found if item.place is not None}
        self._sorted = sorted(self._at)

    def index(self, wanted: ImageRange) -> int | None:
        """The index of the image at `wanted`.

        Clang 15 to 17 register the OffloadBinary that the image is in, all others the image.
        """
        at = bisect_left(self._sorted, wanted.start)
        if at == len(self._sorted):
            return None
        place = self._sorted[at]
        return self._at[place] if place == wanted.start or place < wanted.end else None
