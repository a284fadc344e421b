# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sum up a file: images by target and by container, and the GPUs that run its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from packager.gpus import GENERATIONS, Generation, How, on_amd, on_nvidia, unlisted
from packager.model import DeviceImage, FatBinary, ImageKind
from packager.questions.kernels import architectures, kernels
from packager.questions.sorting import natural
from packager.records import NamedTuple
from packager.triples import code_of

Reach = Literal["natively", "by JIT", "in part", "not at all"]
VENDORS = {"nvptx64": "NVIDIA", "nvptx": "NVIDIA", "amdgcn": "AMD"}


@dataclass
class Sum:
    """Images together."""

    images: int = 0
    kernels: int = 0  # each image's own
    stored: int = 0  # bytes in the file
    inflated: int = 0

    def add(self, image: DeviceImage, kernel_count: int, stored: int) -> None:
        """Add an image."""
        self.images += 1
        self.kernels += kernel_count
        self.stored += stored
        self.inflated += image.size


class Target(NamedTuple):
    """The target and kind that images of one group share."""

    triple: str  # or what the bytes are code for; "" where nothing says it
    arch: str
    kind: ImageKind


@dataclass
class Container:
    """One container: a fat binary of CUDA's, a bundle, a section, with alternative images."""

    name: str
    offset: int  # file offset of the container or its first image
    member: str | None  # member of an archive
    images: list[DeviceImage]
    sum: Sum

    @property
    def architectures(self) -> str:
        return architectures(self.images)


class Coverage(NamedTuple):
    """The way in which GPUs of one generation run the file's code."""

    vendor: str  # "any": whose driver compiles it
    generation: str
    gpus: tuple[str, ...]  # empty if no GPU is known
    reach: Reach
    covered: int  # containers with an image for them
    containers: int  # containers with images for the vendor's GPUs


class Summary(NamedTuple):
    """Everything that is counted of one file and its members."""

    targets: dict[Target, Sum]
    total: Sum
    containers: list[Container]
    coverage: list[Coverage]


def summary(binaries: Iterable[tuple[FatBinary, Sequence[DeviceImage]]]) -> Summary:
    """Sum up the parts of a file or archive, each given with those of its images to count."""
    targets: dict[Target, Sum] = {}
    total = Sum()
    containers: dict[tuple[int, str, int | None], Container] = {}
    for number, (binary, images) in enumerate(binaries):
        stored = shares(binary.images)
        for image in images:
            count = len(kernels(binary, image))
            container = _container(containers, number, image)
            container.images.append(image)
            sums = (targets.setdefault(_target(image), Sum()), total, container.sum)
            for one in sums:
                one.add(image, count, stored[image.index])
    found = list(containers.values())
    return Summary(
        dict(sorted(targets.items(), key=_place)),
        total,
        found,
        [*_coverage(found), *_of_intel(found)],
    )


def _place(row: tuple[Target, Sum]) -> tuple[object, ...]:
    triple, arch, kind = row[0]
    return triple, natural(arch), kind


def shares(images: Sequence[DeviceImage]) -> dict[int, int]:
    """Return the bytes that each image takes in the file.

    Images that are compressed together share the stored bytes in proportion to their sizes.
    """
    together: dict[tuple[int, int], list[DeviceImage]] = {}
    found: dict[int, int] = {}
    for image in images:
        if image.stored_size is None:
            found[image.index] = image.size
        else:
            together.setdefault((image.offset, image.stored_size), []).append(image)
    for (_, stored), group in together.items():
        rest, weight = stored, sum(image.size for image in group)
        for image in group:
            found[image.index] = rest * image.size // weight if weight else rest
            rest, weight = rest - found[image.index], weight - image.size
    return found


def _target(image: DeviceImage) -> Target:
    return Target(image.triple or image.contents.machine or "", image.processor, image.kind)


def _container(
    known: dict[tuple[int, str, int | None], Container], number: int, image: DeviceImage
) -> Container:
    offset = image.offset if image.unit is None else image.unit
    key = (number, image.container, image.unit)
    return known.setdefault(key, Container(image.container, offset, image.member, [], Sum()))


def _coverage(containers: Sequence[Container]) -> Iterator[Coverage]:
    """Yield the GPUs that run the containers' images, grouped by vendor and outcome."""
    for vendor in dict.fromkeys(VENDORS.values()):
        mine = [
            [image for image in container.images if _vendor(image) == vendor]
            for container in containers
        ]
        mine = [images for images in mine if images]
        if not mine:
            continue
        of_vendor = [one for one in GENERATIONS if one.vendor == vendor]
        processors = dict.fromkeys(i.processor for images in mine for i in images)
        others = dict.fromkeys(gpu for name in processors if (gpu := unlisted(name)))
        if others:
            of_vendor.append(
                Generation(of_vendor[0].vendor, "", tuple(sorted(others, key=natural)))
            )
        for generation in of_vendor:
            fates: dict[tuple[Reach, int], list[str]] = {}
            for gpu in generation.gpus:
                fates.setdefault(_fate(mine, gpu), []).append(gpu)
            for (reach, covered), gpus in fates.items():
                yield Coverage(vendor, generation.name, tuple(gpus), reach, covered, len(mine))


def _of_intel(containers: Sequence[Container]) -> Iterator[Coverage]:
    """Yield Intel's GPUs with native code, and SPIR-V for every GPU whose driver compiles it."""
    images = [image for container in containers for image in container.images]
    for arch in dict.fromkeys(image.processor for image in images if image.kind == "zebin"):
        count = _count(containers, "zebin", arch)
        yield Coverage("Intel", "", (arch,), "natively", count, count)
    count = _count(containers, "spirv")
    if count:
        yield Coverage("any", "drivers that compile SPIR-V", (), "by JIT", count, count)


def _count(containers: Sequence[Container], kind: ImageKind, arch: str | None = None) -> int:
    """Count the containers that have an image of a kind, for one architecture if given."""
    return sum(
        any(i.kind == kind and arch in (None, i.processor) for i in container.images)
        for container in containers
    )


def _vendor(image: DeviceImage) -> str | None:
    return VENDORS.get(image.contents.machine or code_of(image.triple))


def _fate(containers: Sequence[Sequence[DeviceImage]], gpu: str) -> tuple[Reach, int]:
    """Return how a GPU runs the images of containers, and how many containers it can use."""
    found = [_best(images, gpu) for images in containers]
    covered = sum(how is not None for how in found)
    if not covered:
        return "not at all", 0
    if covered < len(found):
        return "in part", covered
    return ("by JIT" if "by JIT" in found else "natively"), covered


def _best(images: Sequence[DeviceImage], gpu: str) -> How | None:
    ways = {_way(image, gpu) for image in images}
    return "natively" if "natively" in ways else "by JIT" if "by JIT" in ways else None


def _way(image: DeviceImage, gpu: str) -> How | None:
    """Return how a GPU runs an image, or None.

    The runtime compiles bitcode, except bitcode in CUDA's fat binaries, which is for a linker.
    """
    if image.kind == "bitcode" and image.container == "cuda-fatbin":
        return None
    if _vendor(image) == "NVIDIA":
        return on_nvidia(image.processor, gpu, is_ptx=image.kind != "cubin")
    if not on_amd(image.processor, gpu):
        return None
    return "by JIT" if image.kind == "bitcode" else "natively"
