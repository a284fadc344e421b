# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare two builds: images and kernels by target, entries in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Literal

from packager.model import Descriptor, DeviceImage, DeviceSymbol, FatBinary, Resources
from packager.naming.kernel_names import decode
from packager.questions.kernels import kernels
from packager.questions.moved import moved
from packager.questions.sorting import code_size
from packager.questions.wanted import Wanted
from packager.records import NamedTuple
from packager.wording import runs

# Longest lists for difflib, whose time grows with the square of the length; longer ones are
# compared as sets.
MAX_ORDERED = 5000
UNMOVED: Mapping[str, str] = MappingProxyType({})


class Fact(NamedTuple):
    """A number that differs; None if a file does not record it."""

    what: str
    old: int | None
    new: int | None


How = Literal["added", "removed", "changed", "moved"]


class Change(NamedTuple):
    """A difference between two files: a part that only one file has, or that differs in both."""

    what: Literal["ABI", "image", "kernel", "entry", "descriptor"]
    change: How
    name: str  # a kernel's name in its image, a region's function and line, or words
    targets: tuple[str, ...] = ()  # targets of a kernel's images
    facts: tuple[Fact, ...] = ()
    was: str = ""  # the name in the old file, of a region whose line has moved


def differences(old: FatBinary, new: FatBinary, wanted: Wanted) -> Iterator[Change]:
    """Yield the differences of two files' wanted images and kernels.

    Images are compared by their bytes if both were loaded with hashes. A region stays the same if
    an edit above it has moved its line.
    """
    lines = moved(_regions(old), _regions(new))
    yield from _sequence("ABI", [old.abi or "none"], [new.abi or "none"])
    yield from _images(old, new, wanted, lines)
    yield from _sequence("entry", _entries(old, wanted, lines), _entries(new, wanted))
    yield from _sequence("descriptor", _descriptors(old), _descriptors(new))


def _sequence(
    what: Literal["ABI", "entry", "descriptor"], old: Sequence[str], new: Sequence[str]
) -> Iterator[Change]:
    if max(len(old), len(new)) > MAX_ORDERED:
        before, after = set(old), set(new)
        yield from (Change(what, "removed", line) for line in old if line not in after)
        yield from (Change(what, "added", line) for line in new if line not in before)
        return
    from difflib import SequenceMatcher  # slow to load

    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (Change(what, "removed", line) for line in old[a:b])
            yield from (Change(what, "added", line) for line in new[c:d])


def _images(
    old: FatBinary, new: FatBinary, wanted: Wanted, lines: Mapping[str, str]
) -> Iterator[Change]:
    """Yield the changes of images by target, then those of kernels of targets in both files."""
    before, after = _by_target(old, wanted), _by_target(new, wanted)
    pairs = {name: (before.get(name, []), after.get(name, [])) for name in {**before, **after}}
    for name, (ours, theirs) in pairs.items():
        if not ours or not theirs:
            change: Literal["added", "removed"] = "removed" if ours else "added"
            binary, images = (old, ours) if ours else (new, theirs)
            yield Change("image", change, name, facts=_of_all(binary, images, is_new=not ours))
        elif _hashes(ours) != _hashes(theirs):
            yield Change("image", "changed", name, facts=_image_facts(ours, theirs))
    common = {name: pair for name, pair in pairs.items() if all(pair)}
    yield from _kernels(old, new, common, wanted, lines)


def _by_target(binary: FatBinary, wanted: Wanted) -> dict[str, list[DeviceImage]]:
    found: dict[str, list[DeviceImage]] = {}
    for image in wanted.images(binary):
        target = image.triple or image.contents.machine or "no triple"
        name = " ".join(word for word in (image.kind, "for", target, image.processor) if word)
        found.setdefault(name, []).append(image)
    return found


def _hashes(images: Iterable[DeviceImage]) -> list[tuple[str, int]]:
    return sorted((image.sha256 or "", image.size) for image in images)


def _of_all(binary: FatBinary, images: Sequence[DeviceImage], *, is_new: bool) -> tuple[Fact, ...]:
    """Return the figures of images that only one file has."""
    count = sum(len(kernels(binary, image)) for image in images)
    numbers = {"images": len(images), "bytes": sum(i.size for i in images), "kernels": count}
    return tuple(
        Fact(what, None if is_new else number, number if is_new else None)
        for what, number in numbers.items()
    )


def _image_facts(old: Sequence[DeviceImage], new: Sequence[DeviceImage]) -> tuple[Fact, ...]:
    sizes = sum(image.size for image in old), sum(image.size for image in new)
    facts = (Fact("images", len(old), len(new)), Fact("bytes", *sizes))
    return tuple(fact for fact in facts if fact.old != fact.new)


# ---- kernels ----


def _kernels(
    old: FatBinary,
    new: FatBinary,
    pairs: dict[str, tuple[list[DeviceImage], list[DeviceImage]]],
    wanted: Wanted,
    lines: Mapping[str, str],
) -> Iterator[Change]:
    """Yield the changes of kernels in targets of both files; equal changes are merged."""
    names_before = {now: name for name, now in lines.items()}
    found: dict[tuple[str, How, tuple[Fact, ...]], list[str]] = {}
    for target, (ours, theirs) in pairs.items():
        before, after = _needs(old, ours, wanted, lines), _needs(new, theirs, wanted)
        for name in {**before, **after}:
            rows = list(_changed(before.get(name, []), after.get(name, [])))
            if not rows and name in names_before:
                rows = [("moved", ())]
            for row in rows:
                found.setdefault((name, *row), []).append(target)
    for (name, change, facts), targets in found.items():
        was = names_before.get(name, "") if change in ("moved", "changed") else ""
        yield Change("kernel", change, name, tuple(dict.fromkeys(targets)), facts, was)


Numbers = dict[str, int]


def _needs(
    binary: FatBinary,
    images: Iterable[DeviceImage],
    wanted: Wanted,
    lines: Mapping[str, str] = UNMOVED,
) -> dict[str, list[Numbers]]:
    """Return the resources of kernels by name; kernels of one name are sorted."""
    found: dict[str, list[Numbers]] = {}
    for image in images:
        for kernel in kernels(binary, image):
            if wanted.names(kernel.name):
                name = _lasting(kernel.name)
                found.setdefault(lines.get(name, name), []).append(_numbers(kernel))
    for rows in found.values():
        rows.sort(key=lambda row: sorted(row.items()))
    return found


def _numbers(kernel: DeviceSymbol) -> Numbers:
    needs = kernel.resources or Resources(None, None, None)
    said = {
        "registers": needs.registers,
        "shared": needs.shared,
        "stack": needs.stack,
        "SGPRs": needs.scalar_registers,
        "AGPRs": needs.accumulators,
        "VGPR spills": needs.vector_spills,
        "SGPR spills": needs.scalar_spills,
        "code": code_size(kernel),
    }
    return {what: number for what, number in said.items() if number is not None}


def _changed(
    old: Sequence[Numbers], new: Sequence[Numbers]
) -> Iterator[tuple[How, tuple[Fact, ...]]]:
    """Yield the changes of the kernels of one name; equal ones are omitted."""
    ours = [row for row in old if row not in new]
    theirs = [row for row in new if row not in old]
    if len(old) == len(new) or (ours and theirs):
        for one, other in zip_longest(ours, theirs):
            if one is not None and other is not None:
                facts = (Fact(what, one.get(what), other.get(what)) for what in {**one, **other})
                yield "changed", tuple(fact for fact in facts if fact.old != fact.new)
    for _ in range(len(old) - len(new)):
        yield "removed", ()
    for _ in range(len(new) - len(old)):
        yield "added", ()


# ---- entries and descriptors ----


def _lasting(name: str) -> str:
    """Return a kernel's name without the source file's inode, which differs between builds."""
    return str(decode(name) or name)


def _regions(binary: FatBinary) -> dict[str, Numbers]:
    """Return the names of all kernels, of entries and images, with the first image's resources."""
    found: dict[str, Numbers] = {e.name: {} for e in binary.entries if e.kind == "kernel"}
    for image in binary.images:
        for kernel in kernels(binary, image):
            found[kernel.name] = found.get(kernel.name) or _numbers(kernel)
    return found


def _entries(binary: FatBinary, wanted: Wanted, lines: Mapping[str, str] = UNMOVED) -> list[str]:
    return [
        f"{entry.kind} {lines.get(name, name) or entry.symbol or 'without a name'}"
        + (f", {entry.size} bytes" if entry.size else "")
        for entry in binary.entries
        if wanted.names(entry.name)
        for name in [_lasting(entry.name)]
    ]


def _registered(descriptor: Descriptor) -> str:
    if descriptor.registered_by:
        return ", registered"
    return ", registered by nothing found" if descriptor.is_traced else ", registration unknown"


def _descriptors(binary: FatBinary) -> list[str]:
    return [
        f"of images {runs(descriptor.images) or 'none'}" + _registered(descriptor)
        for descriptor in binary.descriptors
    ]
