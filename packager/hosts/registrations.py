# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The images that a file registers with CUDA's, HIP's and SYCL's runtimes, and the callers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from packager.elf.address_space import Space
from packager.formats.containers.payload import Damage, Unknown
from packager.formats.host_records import fatbin_wrappers
from packager.formats.host_records.descriptors import registering
from packager.formats.host_records.fatbin_wrappers import FoundWrapper
from packager.formats.host_records.sycl_binaries import FoundBinaries
from packager.host_machines import MACHINES
from packager.hosts.images import PlacedImage
from packager.model import Model, Registration
from packager.records import NamedTuple


class Found(NamedTuple):
    """The registrations of a file."""

    rows: Sequence[Registration]
    faults: Sequence[str]  # malformed registrations
    newer: Sequence[str]  # wrappers of a format that came after this omptool


def of_runtimes(
    space: Space, images: Sequence[PlacedImage], binaries: Sequence[FoundBinaries]
) -> Found:
    """Return the registrations by address, and the faults and unknown versions among them."""
    faults: list[str] = []
    newer: list[str] = []
    wrappers: list[FoundWrapper] = []
    for item in fatbin_wrappers.find(space):
        if isinstance(item, Damage):
            faults.append(item.message)
        elif isinstance(item, Unknown):
            newer.append(item.message)
        else:
            wrappers.append(item)
    placed = _Placed(images)
    ends = _ends(space, {w.binary for w in wrappers if w.binary})
    rows: list[tuple[int, Model, tuple[int, ...]]] = [
        (w.address, w.model, _registered(images, placed.between(w.binary, ends.get(w.binary))))
        for w in wrappers
    ]
    for found in binaries:
        begins = [placed.at(image.start) for image in found.images]
        rows.append((found.address, "sycl", tuple(n for numbers in begins for n in numbers)))
    by = registering(space, {address for address, _, _ in rows})
    is_traced = space.elf.machine in MACHINES
    registered = [
        Registration(
            model=model,
            address=None if space.elf.is_object else address,
            offset=space.elf.data.at + (space.offset(address) or 0),
            images=numbers,
            registered_by=by.get(address),
            is_traced=is_traced,
        )
        for address, model, numbers in sorted(rows)
    ]
    return Found(registered, faults, newer)


def _registered(images: Sequence[PlacedImage], numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the images of a wrapper that its runtime reads.

    HIP's runtime reads one compressed bundle. A linker that joins objects may append others.
    """
    payloads = [images[number].payload for number in numbers]
    if not payloads or payloads[0].producer != "hip" or payloads[0].compression is None:
        return numbers
    pairs = zip(numbers, payloads, strict=True)
    return tuple(number for number, payload in pairs if payload.unit == payloads[0].unit)


class _Placed:
    """The images by their addresses; several may have one, compressed together."""

    def __init__(self, images: Sequence[PlacedImage]) -> None:
        self._rows = sorted((i.place, n) for n, i in enumerate(images) if i.place is not None)
        self._places = [place for place, _ in self._rows]

    def at(self, place: int) -> list[int]:
        """Return the images that begin at an address."""
        first, last = bisect_left(self._places, place), bisect_right(self._places, place)
        return [number for _, number in self._rows[first:last]]

    def between(self, begin: int | None, end: int | None) -> tuple[int, ...]:
        """Return the images of the fat binary between two addresses."""
        if begin is None or end is None:
            return ()
        first, last = bisect_left(self._places, begin), bisect_left(self._places, end)
        return tuple(number for _, number in self._rows[first:last])


def _ends(space: Space, begins: set[int]) -> dict[int | None, int]:
    """Return where each fat binary ends: where the next one begins, or its section ends."""
    known = sorted(begins)
    ends: dict[int | None, int] = dict(pairwise(known))
    sections = sorted(
        (space.address(s), space.address(s) + s.size) for s in space.elf.sections if s.is_allocated
    )
    for begin in known:
        at = bisect_right(sections, (begin, 1 << 64)) - 1
        end = sections[at][1] if at >= 0 else 0
        if begin < end:
            ends[begin] = min(end, ends.get(begin, end))
    return ends
