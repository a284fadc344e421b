# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device images in a host file: in sections of their own, or where a descriptor points."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from packager.elf.address_space import Space
from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import cuda_fatbin, llvm_offloading, nested, offload_binary
from packager.formats.containers import known as containers
from packager.formats.containers.bundles import bundle_section, hip_fatbin
from packager.formats.containers.payload import Damage, Payload
from packager.formats.device_images import known as images
from packager.formats.host_records.descriptors import FoundDescriptor, ImageRange
from packager.hosts.limits import Limits
from packager.hosts.told import Told
from packager.model import DeviceImage
from packager.records import NamedTuple

# Sections in CUDA's and HIP's programs that must begin with a container.
BUNDLES = {cuda_fatbin.NAME: cuda_fatbin.probe, hip_fatbin.NAME: hip_fatbin.probe}


class PlacedImage(NamedTuple):
    """An image that was read, with its address in the file that holds it."""

    payload: Payload
    inside: images.Inside
    container: str
    place: int | None  # None in an unloaded section

    @property
    def data(self) -> Reader:
        """Return a reader of the image's bytes."""
        return self.payload.image


class FoundImages(NamedTuple):
    """Images, and the malformed parts where images should be."""

    images: list[PlacedImage]
    faults: list[str]


def in_sections(memory: Space, told: Collection[int], limits: Limits) -> FoundImages:
    """Return the images in sections of known containers, in file order, without those in `told`."""
    found: list[PlacedImage] = []
    faults: list[str] = []
    with limits.noted():
        for section, name, item in _in_containers(memory, told):
            if isinstance(item, Damage):
                faults.append(f"section {section.name}: {item.message}")
                continue
            start = memory.address(section) if section.is_allocated else None
            origin = _Origin(name, start, section.offset)
            found.append(_placed(memory, origin, item))
    return FoundImages(found, faults)


def _in_containers(
    memory: Space, told: Collection[int]
) -> Iterator[tuple[Section, str, Payload | Damage]]:
    """Yield the contents of sections, each with the name of its container."""
    for section in memory.elf.sections:
        container = containers.of_section(section)
        if container and not _is_told(memory, section, container, told):
            try:
                data = memory.elf.content(section)
            except FormatError as error:
                yield section, container.NAME, Damage(str(error))
                continue
            for item in payloads(section, data, container):
                yield section, container.NAME, item


def payloads(
    section: Section, data: Reader, container: containers.SectionContainer
) -> Iterator[Payload | Damage]:
    """Yield the payloads of a section that a container claims, and malformed parts."""
    if container is llvm_offloading and _is_bare(section, data):
        return
    if _is_unbundled(container, data):
        yield from nested.opened(Payload(data))
        return
    yield from nested.payloads(partial(container.parse_section, section), data)


def _is_told(
    memory: Space, section: Section, container: containers.SectionContainer, told: Collection[int]
) -> bool:
    """Return whether a section holds images that are known by their addresses.

    In an object a bundler's section is one image, in a linked file of Intel's compilers many.
    """
    if container is not bundle_section or not section.is_allocated:
        return False
    start = memory.address(section)
    return any(start <= at < start + section.size for at in told)


def _is_bare(section: Section, data: Reader) -> bool:
    """Return whether bare images are where OffloadBinaries are looked for.

    `llvm-offload-wrapper` puts them there when its inputs are not OffloadBinaries. The descriptors
    that point to them have their addresses and targets.
    """
    is_binary = data.starts_with(offload_binary.MAGIC)
    return section.is_allocated and not is_binary and images.is_image(data)


def _is_unbundled(container: containers.SectionContainer, data: Reader) -> bool:
    """Return whether a section has a bare image, or one in another container.

    LLVM's wrapper puts any input into CUDA's and HIP's sections.
    """
    probe = BUNDLES.get(container.NAME)
    if probe is None or probe(data):
        return False
    return images.is_image(data) or containers.of_file(data) is not None


class _Origin(NamedTuple):
    """Origin of images: their container, its address, and its file offset."""

    container: str
    start: int | None  # None if it is not loaded
    offset: int


def _placed(memory: Space, origin: _Origin, payload: Payload) -> PlacedImage:
    stored = payload.stored or payload.image
    inside = stored.at - memory.elf.data.at - origin.offset
    place = None if origin.start is None else origin.start + inside
    return PlacedImage(payload, images.looked_into(payload), origin.container, place)


def elsewhere(
    memory: Space,
    told: Iterable[Told | Damage],
    found: Sequence[PlacedImage],
    limits: Limits,
) -> FoundImages:
    """Return the images at known addresses that are not in `found`."""
    added: list[PlacedImage] = []
    faults: list[str] = []
    with limits.noted():
        for item in _unknown(told, found):
            if isinstance(item, Damage):
                faults.append(item.message)
                continue
            origin, payload = _at(memory, item)
            for part in nested.opened(payload):
                if isinstance(part, Damage):
                    faults.append(f"device image at {item.at.start:#x}: {part.message}")
                else:
                    added.append(_placed(memory, origin, part))
    return FoundImages(added, faults)


def _unknown(
    told: Iterable[Told | Damage], found: Sequence[PlacedImage]
) -> Iterator[Told | Damage]:
    known = Places(found)
    starts: set[int] = set()
    for item in told:
        if isinstance(item, Damage):
            yield item
        elif item.at.start not in starts and known.index(item.at) is None:
            starts.add(item.at.start)
            yield item


def _at(memory: Space, item: Told) -> tuple[_Origin, Payload]:
    start, size = item.at.start, item.at.end - item.at.start
    offset = memory.offset(start, size)
    if offset is None:
        raise FormatError(f"device image at address {start:#x} is not in the file")
    payload = offload_binary.around(memory.elf.data, offset, size)
    origin = _Origin(offload_binary.NAME if payload else item.container, start, offset)
    if payload is None:
        data = memory.elf.data.slice(offset, size, "device image")
        payload = Payload(data, item.triple, declared_kind=item.kind)
    return origin, payload


def numbered(
    found: Sequence[PlacedImage], described: Sequence[FoundDescriptor]
) -> list[PlacedImage]:
    """Return the images in the order of the descriptors, which numbers devices, then all others.

    Linkers reorder sections: mold sorts by alignment and size.
    """
    places = Places(found)
    order: dict[int, None] = {}
    for at in (image for descriptor in described for image in descriptor.images):
        index = places.index(at)
        if index is not None:
            order[index] = None
    order |= dict.fromkeys(range(len(found)))
    return [found[old] for old in order]


def looked_into(found: Sequence[PlacedImage]) -> list[PlacedImage]:
    """Return the images with their symbols, which entry tables found later need."""
    return [
        item._replace(inside=item.inside._replace(contents=images.contents_of(item.payload)))
        for item in found
    ]


def records(
    memory: Space, found: Sequence[PlacedImage], described: Sequence[FoundDescriptor]
) -> tuple[DeviceImage, ...]:
    """Return the model's records of the images.

    They mark images that a descriptor registers with their container.
    """
    places = Places(found)
    starts = {item.place for item in found}
    wrapped = {
        places.index(at)
        for descriptor in described
        for at in descriptor.images
        if at.start not in starts
    }
    return tuple(
        images.record(
            item.payload,
            item.inside,
            index,
            item.container,
            None if memory.elf.is_object else item.place,
            is_wrapped=index in wrapped,
        )
        for index, item in enumerate(found)
    )


class Places:
    """Finds the image that a descriptor refers to."""

    def __init__(self, found: Sequence[PlacedImage]) -> None:
        self._found = found
        self._at: dict[int, int] = {}
        self._sorted: list[int] | None = None  # most objects have no descriptor that asks

    def index(self, wanted: ImageRange) -> int | None:
        """Return the index of the image at `wanted`, or None.

        Clang 15 to 17 register the OffloadBinary around the image, other releases the image itself.
        """
        if self._sorted is None:
            places = ((item.place, number) for number, item in enumerate(self._found))
            self._at = {place: number for place, number in places if place is not None}
            self._sorted = sorted(self._at)
        at = bisect_left(self._sorted, wanted.start)
        if at == len(self._sorted):
            return None
        place = self._sorted[at]
        return self._at[place] if place == wanted.start or place < wanted.end else None
