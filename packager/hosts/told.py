# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find images that only addresses refer to: in descriptors, and in lists of Intel's compilers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.elf.address_space import Space
from packager.formats.containers import llvm_offloading
from packager.formats.containers.bundles.clang_bundle import SECTION_PREFIX, split_id
from packager.formats.containers.payload import Damage
from packager.formats.host_records import sycl_binaries
from packager.formats.host_records.descriptors import FoundDescriptor, ImageRange
from packager.formats.host_records.sycl_binaries import FoundBinaries
from packager.hosts import tgtimg
from packager.model import ImageKind
from packager.records import NamedTuple

# Container of an image that only a descriptor's address refers to.
RAW = "raw"


class Told(NamedTuple):
    """The place of an image, and the declarations of its container."""

    at: ImageRange
    container: str
    triple: str = ""
    kind: ImageKind | None = None


class Sycl(NamedTuple):
    """The data that a file has for SYCL's runtime."""

    binaries: list[FoundBinaries]
    images: list[Told | Damage]

    @property
    def starts(self) -> set[int]:
        """Return where its images begin."""
        return {told.at.start for told in self.images if isinstance(told, Told)}


def of_descriptors(described: Sequence[FoundDescriptor]) -> Iterator[Told]:
    """Yield the images that OpenMP's descriptors point to."""
    return (Told(image, RAW) for descriptor in described for image in descriptor.images)


def sycl(space: Space) -> Sycl:
    """Return the images of SYCL's descriptors, then those that only `.tgtimg` lists."""
    listed = list(tgtimg.ranges(space))
    places = [at.start for at in listed if isinstance(at, ImageRange)]
    binaries = sycl_binaries.find(space, [*places, *_of_wrapper(space)])
    images: dict[int, Told | Damage] = {
        image.start: Told(
            ImageRange(image.start, image.end), sycl_binaries.NAME, image.target, image.kind
        )
        for found in binaries
        for image in found.images
    }
    targets = _targets(space)
    for number, at in enumerate(listed):
        if isinstance(at, Damage):
            images[-number - 1] = at
        elif at.start not in images:
            triple = next((triple for where, triple in targets if at.start in where), "")
            images[at.start] = Told(at, tgtimg.NAME, triple)
    return Sycl(binaries, list(images.values()))


def _of_wrapper(space: Space) -> Iterator[int]:
    """Yield the address of the first image of LLVM's linker wrapper; records lead to the others."""
    for section in space.elf.sections:
        if section.is_allocated and llvm_offloading.claims(section) and section.size:
            yield space.address(section)


def _targets(space: Space) -> list[tuple[range, str]]:
    """Return the sections that hold images, with the triples in their names."""
    return [
        (range(space.address(s), space.address(s) + s.size), split_id(_id(s.name))[1])
        for s in space.elf.sections
        if s.is_allocated and s.name.startswith(SECTION_PREFIX)
    ]


def _id(name: str) -> str:
    return name.removeprefix(SECTION_PREFIX)
