# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that the objects of one link agree on entries, images and device symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from packager.errors import UsageError
from packager.formats.host_records.requirements import FOR_ALL
from packager.layouts import WrittenAbi
from packager.linking.groups import Group
from packager.linking.inputs import HostPart, Part
from packager.model import EntryTable
from packager.same_kernel import objects
from packager.triples import normalise

Codes = dict[str, tuple[bytes, ...]]  # code of kernels, by name
OTHERS = {"cuda": "CUDA", "hip": "HIP", "sycl": "SYCL"}
DOCUMENTS = ("interface", "proposal")
MAX_NAMES = 4  # most names of objects in a line


def expect_one_form(parts: Sequence[HostPart]) -> None:
    """Check that one wrapper can serve all parts.

    Raises UsageError for entries of two forms, foreign images, and entries without a use.
    """
    sections: dict[str, str] = {}
    for part in parts:
        for one in part.parts:
            _expect_triple(part, one.image.triple)
        for producer in {one.image.producer for one in part.parts} & set(OTHERS):
            what = f"{part.name} has images of {OTHERS[str(producer)]}"
            raise UsageError(f"{what}, and only OpenMP's are linked: use its own compiler")
        for table in part.binary.tables:
            sections.setdefault(_form(table), part.name)
    if len(sections) > 1:
        kinds = " and ".join(f"{name} ({form})" for form, name in sections.items())
        raise UsageError(f"entries of two generations cannot be in one table: {kinds}")


def expect_abi(parts: Sequence[HostPart], abi: WrittenAbi) -> None:
    """Raise UsageError for an object whose entries a wrapper of `abi` does not cover."""
    for part in parts:
        for table in part.binary.tables:
            if table.section != abi.entries_section:
                what = (
                    f"its entries are of {table.abi}; a wrapper for {abi.name} cannot register them"
                )
                raise UsageError(what, Path(part.name))


def _expect_triple(part: HostPart, triple: str) -> None:
    try:
        normalise(triple)
    except UsageError as error:
        raise UsageError(f"its device code has a wrong triple: {error}", Path(part.name)) from error


def _form(table: EntryTable) -> str:
    if table.abi in DOCUMENTS:
        return table.abi
    return f"{table.record_size} bytes each, in {table.section}"


def differences(parts: Sequence[HostPart], groups: Sequence[Group]) -> Iterator[str]:
    """Yield warnings, a line each: first of regions that will not offload."""
    yield from _generations(parts)
    yield from _requirements(parts)
    yield from _orders(parts)
    yield from _absent(parts, groups)
    shared = _shared(parts)
    codes = [[(part.origin, _codes(part, shared)) for part in group.parts] for group in groups]
    for name in shared:
        for known in codes:
            yield from _bodies(name, known)


def _generations(parts: Sequence[HostPart]) -> Iterator[str]:
    found: dict[str, str] = {}
    for part in parts:
        for table in part.binary.tables:
            found.setdefault(table.abi, part.name)
    if len(found) > 1:
        named = ", ".join(f"{name} ({abi})" for abi, name in found.items())
        yield f"objects of several generations, of which one runtime may not serve all: {named}"


def _requirements(parts: Sequence[HostPart]) -> Iterator[str]:
    """Report a `requires` clause that only some objects have.

    LLVM's runtime up to 18 ends such a program; later ones share memory with all of it.
    """
    with_regions = [p for p in parts if p.binary.entries and p.requires is not None]
    for bit, clause in FOR_ALL.items():
        asking = [part.name for part in with_regions if (part.requires or 0) & bit]
        others = [part.name for part in with_regions if not (part.requires or 0) & bit]
        if asking and others:
            what = f"{_listed(asking)} has `requires {clause}`, {_listed(others)} lacks it"
            yield f"{what}: OpenMP requires it of all objects with regions"


def _orders(parts: Sequence[HostPart]) -> Iterator[str]:
    """Yield a warning for objects whose images are in another order than the devices'.

    Devices have numbers in the order in which targets first appear. If objects disagree, the
    warning names the smaller group. Else it names the object that lacks a target and so has put
    another one in front.
    """
    targets = {p.name: list(dict.fromkeys(one.image.target for one in p.parts)) for p in parts}
    numbered = list(dict.fromkeys(target for own in targets.values() for target in own))
    place = {target: number for number, target in enumerate(numbered)}
    others = [name for name, own in targets.items() if own != sorted(own, key=place.__getitem__)]
    if not others:
        return
    own = targets[others[0]]
    one, two = next(pair for pair in pairwise(own) if place[pair[0]] > place[pair[1]])
    maker = next(name for name, own in targets.items() if two in own)
    devices = f"devices are numbered {', '.join(numbered)}"
    if one not in targets[maker]:
        yield (
            f"{maker} comes first and has no code for {one}: {devices}, but the order in "
            f"{_listed(others)} is {', '.join(own)}"
        )
        return
    agreeing = [
        name for name, own in targets.items() if {one, two} <= {*own} and name not in others
    ]
    odd, rest = sorted((others, agreeing), key=len)
    known = ", ".join(target for target in targets[odd[0]] if target in targets[rest[0]])
    verb = "have their" if len(odd) > 1 else "has its"
    yield (
        f"{_listed(odd)} {verb} images in the order {known}, {_listed(rest)} in another: {devices}"
    )


def _absent(parts: Sequence[HostPart], groups: Sequence[Group]) -> Iterator[str]:
    """Yield objects with regions that a device of the program cannot run."""
    none = [part.name for part in parts if part.binary.entries and not part.parts]
    if none:
        yield f"no device code in {_listed(none)}: the regions there run on the host"
    for group in groups:
        origins = {one.origin for one in group.parts}
        lacking = [p.name for p in parts if p.binary.entries and p.parts and p.name not in origins]
        if lacking:
            yield f"no code for {group.name} in {_listed(lacking)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _shared(parts: Sequence[HostPart]) -> dict[str, set[str]]:
    """Return the kernels that several objects define, with these: the linker merges them."""
    owners: dict[str, set[str]] = {}
    for part in parts:
        for entry in part.binary.entries:
            if entry.kind == "kernel" and entry.name:
                owners.setdefault(entry.name, set()).add(part.name)
    return {name: names for name, names in owners.items() if len(names) > 1}


def _bodies(kernel: str, codes: Sequence[tuple[str, Codes]]) -> Iterator[str]:
    """Yield a warning if code of a template's kernel differs: the link takes the first one."""
    found = [(origin, known[kernel]) for origin, known in codes if kernel in known]
    for origin, other in found[1:]:
        if other != found[0][1]:
            yield (
                f"kernel {kernel} differs in {found[0][0]} and {origin}: the link takes that of "
                f"{found[0][0]}"
            )
            return


def _codes(part: Part, shared: Mapping[str, set[str]]) -> Codes:
    """Return the code of the shared kernels that an object has for a CPU."""
    kernels = [name for name, owners in shared.items() if part.origin in owners]
    if part.image.kind != "elf" or not kernels:
        return {}
    with part.opened() as data:
        return objects.codes(data, kernels)
