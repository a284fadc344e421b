# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Estimate the result of `slim` for each architecture of a file, from its model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.formats.containers import cuda_fatbin
from packager.formats.containers.bundles import clang_bundle, compressed_bundle, hip_fatbin
from packager.model import DeviceImage, FatBinary
from packager.questions.sorting import natural
from packager.questions.summary import shares
from packager.records import NamedTuple
from packager.slimming.keeps import NVIDIA, Kept, known
from packager.slimming.selection import COMPILED, Candidate, choose, is_of_kind
from packager.triples import code_of

# Containers that slimming rewrites; in a linked file, only if wrappers refer to them.
CONTAINERS = (cuda_fatbin.NAME, hip_fatbin.NAME, clang_bundle.NAME, compressed_bundle.NAME)


class Estimate(NamedTuple):
    """The bytes that would be left for one architecture."""

    keep: str
    left: int
    is_at_least: bool  # images are compressed together: one alone takes more than its share
    without: int  # containers that have no code for it, but for others
    containers: int  # containers for devices of its kind


class _Container(NamedTuple):
    images: list[Candidate]
    is_packed: bool  # whether its images are compressed together


def estimates(binaries: Sequence[FatBinary], size: int) -> list[Estimate]:
    """Return an estimate for each architecture of a file of `size` bytes, with its members."""
    containers = [one for binary in binaries for one in _containers(binary)]
    images = [image for one in containers for image in one.images]
    names = dict.fromkeys(_gpu(image.arch) for image in images)
    keeps = [kept for name in sorted(names, key=natural) if (kept := known(name))]
    return [_estimate(kept, containers, size) for kept in keeps]


def _gpu(arch: str) -> str:
    """Return the GPU of an architecture: that of sm_90a is sm_90."""
    return arch.rstrip("af") if arch.startswith("sm_") else arch


def _containers(binary: FatBinary) -> Iterator[_Container]:
    """Yield the containers that would be rewritten."""
    told = {n for row in binary.registrations for n in row.images}
    stored = shares(binary.images)
    groups: dict[int | None, list[DeviceImage]] = {}
    for image in binary.images:
        is_told = binary.machine is None or image.index in told
        if is_told and image.container in CONTAINERS and image.unit is not None:
            groups.setdefault(image.unit, []).append(image)
    for images in groups.values():
        places = {(image.offset, image.stored_size) for image in images}
        candidates = [_candidate(image, stored[image.index]) for image in images]
        yield _Container(candidates, len(places) < len(images))


def _candidate(image: DeviceImage, stored: int) -> Candidate:
    code = image.contents.machine or code_of(image.triple)
    is_for_linker = code == NVIDIA and image.kind in COMPILED[NVIDIA] and image.kind != "ptx"
    stays = is_for_linker or image.kind == "unknown" or not image.processor
    return Candidate(code, image.processor, image.kind, stored, "it stays" if stays else "")


def _estimate(kept: Kept, containers: Sequence[_Container], size: int) -> Estimate:
    removed = without = of_kind = 0
    is_at_least = False
    for one in containers:
        choice = choose(one.images, [kept], keep_ptx=False)
        going = [i.stored for n, i in enumerate(one.images) if n not in choice.stay]
        removed += sum(going)
        without += bool(choice.lacking)
        of_kind += any(is_of_kind(image.code, kept) for image in one.images)
        is_at_least |= one.is_packed and 0 < len(going) < len(one.images)
    return Estimate(kept.name, max(size - removed, 0), is_at_least, without, of_kind)
