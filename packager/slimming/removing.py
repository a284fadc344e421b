# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Remove images that users name from the containers of CUDA and HIP, and from SYCL's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packager.editing.finish import Edited, own_images
from packager.editing.request import Change, Named, name_of
from packager.errors import UsageError
from packager.hosts.host_file import HostFile
from packager.model import DeviceImage, FatBinary, Finding
from packager.questions.sorting import natural
from packager.slimming.containers.found import Left
from packager.slimming.containers.outcome import Outcome
from packager.slimming.elf.shrink import shrink
from packager.slimming.numbers import Place, places
from packager.slimming.plan import containers, found_tables, outcomes
from packager.slimming.proof import prove_removed
from packager.slimming.request import TABLES, Request
from packager.wording import counted
from packager.writers.checked import checked
from packager.writers.streams import Copied, ignore

OWNERS = {"cuda": "CUDA's images", "hip": "HIP's images", "sycl": "SYCL's images"}
OTHERS = "images of an object or of a bare container"
UNTOLD = "it is in no container or table that a runtime is told of"
PACKED = "it is packed with others that stay"


def takes(host: HostFile, change: Change) -> bool:
    """Return whether a change is one for `remove`: no descriptor of OpenMP's lists its images."""
    binary = host.binary
    if binary.abi == "gcc":
        return False
    if not binary.descriptors:
        is_registered = host.is_linked and bool(binary.registrations)
        return is_registered or bool(containers(host.data)[0])
    listed = {number for descriptor in binary.descriptors for number in descriptor.images}
    wanted = [i.index for named in change.removed for i in binary.images if named.means(i)]
    return bool(wanted) and not _other_option(change) and listed.isdisjoint(wanted)


def remove(
    host: HostFile, change: Change, out: Path, *, force: bool = False, copied: Copied = ignore
) -> Edited:
    """Write to `out`, which may be `host`, the file without the images that a change removes.

    Errors are those of `edit`; if a target has several images, all are removed.
    """
    binary = host.binary
    if option := _other_option(change):
        raise UsageError(f"only --remove works on {_owners(binary)}, and {option} does not")
    named = list(_named(binary, change.removed))
    before, left = containers(host.data)
    numbers = {image.index for image in named}
    request = _request(named, places(binary, numbers, before, found_tables(host.data)), left)
    rows, after = outcomes(host.data, request)
    offsets = [container.data.at for container in before]
    _expect_gone(request, offsets, rows, [one for one in after if one not in left])
    findings: list[Finding] = []

    def check(result: Path) -> None:
        prove_removed(host.path, result, request)
        is_wrapped, own = any(image.is_wrapped for image in binary.images), own_images(binary)
        findings.extend(checked(result, force=force, is_wrapped=is_wrapped, own=own))

    rewrites = sorted(one for row in rows for one in row.rewrites)
    shrunk = shrink(host.path, rewrites, out, check=check, copied=copied)
    return Edited(
        findings,
        [_sum(named, request), *(zeroed.note for zeroed in shrunk.zeroed), *shrunk.notes],
    )


def _other_option(change: Change) -> str:
    """Return an option of a change besides --remove; "" for none."""
    given = {
        "--add": bool(change.added),
        "--replace": bool(change.replaced),
        "--order": change.order is not None,
        "--descriptor": change.descriptor is not None,
    }
    return next((option for option, is_given in given.items() if is_given), "")


def _owners(binary: FatBinary) -> str:
    models = dict.fromkeys(registration.model for registration in binary.registrations)
    return " and ".join(OWNERS[model] for model in models if model in OWNERS) or OTHERS


def _named(binary: FatBinary, removed: Sequence[Named]) -> Iterator[DeviceImage]:
    """Yield the named images. Raises UsageError for a missing one, and for a repeated one."""
    seen: set[int] = set()
    for named in removed:
        found = [image for image in binary.images if named.means(image)]
        if not found:
            raise UsageError(f"has no image {named.text}; {_known(binary)}")
        for image in found:
            if image.index in seen:
                raise UsageError(f"{name_of(image)} is removed twice")
            seen.add(image.index)
            yield image


def _known(binary: FatBinary) -> str:
    """Return the images that a file has: large libraries have thousands for a few targets."""
    count = len(binary.images)
    if not count:
        return "it has none"
    targets = ", ".join(sorted({image.target for image in binary.images}, key=natural))
    numbers = "image 0" if count == 1 else f"images 0 to {count - 1}"
    return f"it has {numbers} for {targets}"


def _request(
    named: Sequence[DeviceImage], known: Mapping[int, Place], left: Sequence[Left]
) -> Request:
    """Return the request for images by their places.

    Raises UsageError for an image without a place, and for one that others depend on.
    """
    shared: dict[Place, list[int]] = {}
    for index, place in known.items():
        shared.setdefault(place, []).append(index)
    numbers = {image.index for image in named}
    removed: dict[int, frozenset[int]] = {}
    for image in named:
        if image.index not in known:
            more = "".join(f" ({one.what}: {one.reason})" for one in left[:1])
            raise UsageError(f"{name_of(image)} cannot be removed: {UNTOLD}{more}")
        place = known[image.index]
        others = [n for n in shared[place] if n not in numbers]
        if others:
            what = f"it is in one entry with image {others[0]}"
            raise UsageError(f"{name_of(image)} cannot be removed alone: {what}")
        removed[place.container] = removed.get(place.container, frozenset()) | {place.number}
    return Request((), removed=removed)


def _expect_gone(
    request: Request, offsets: Sequence[int], rows: Sequence[Outcome], left: Sequence[Left]
) -> None:
    """Raise UsageError if an image stays that should be removed.

    The first outcomes are those of the containers at `offsets`, the others those of tables.
    """
    removed = request.removed or {}
    for offset, row in zip(offsets, rows, strict=False):
        wanted = removed.get(offset, frozenset())
        if wanted and not (row.images and wanted.isdisjoint(row.choice.stay)):
            why = row.why_whole or _reason(left)
            raise UsageError(f"images of the container at {offset:#x} cannot be removed: {why}")
    stay = [n in row.choice.stay for row in rows[len(offsets) :] for n, _ in enumerate(row.images)]
    if any(stay[n] for n in removed.get(TABLES, ())):
        raise UsageError(f"an image of SYCL's tables cannot be removed: {_reason(left)}")


def _reason(left: Sequence[Left]) -> str:
    return left[0].reason if left else PACKED


def _sum(named: Sequence[DeviceImage], request: Request) -> str:
    removed = request.removed or {}
    of_containers = sum(1 for offset in removed if offset != TABLES)
    where = [counted(of_containers, "container")] if of_containers else []
    where += ["SYCL's tables"] if TABLES in removed else []
    verb = "is" if len(named) == 1 else "are"
    return f"{counted(len(named), 'image')} {verb} removed from {' and '.join(where)}"
