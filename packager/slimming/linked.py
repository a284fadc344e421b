# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The containers that an ELF file registers with CUDA's and HIP's runtimes, and other code."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from packager.elf import headers, without_headers
from packager.elf.address_space import Space
from packager.elf.headers import Section
from packager.elf.space_of import space as space_of
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import cuda_fatbin, large_data, llvm_offloading
from packager.formats.containers.bundles import bundle_section, hip_fatbin
from packager.formats.containers.payload import Damage, Unknown
from packager.formats.host_records import fatbin_wrappers, gcc_offload
from packager.records import NamedTuple
from packager.slimming.containers.found import Found, Left, at_beginning

# Sections of device code that a library loads by itself.
OWN_LOADERS = (large_data.SECTION, ".cask_resource")
UNTOLD = "no wrapper refers to it, so a loader of the library's own may"


class _Start(NamedTuple):
    """The beginning of a container, and the section that it is in."""

    offset: int  # offset from the start of the file or member
    section: Section


def memory(data: Reader) -> Space | None:
    """Return the address space of a host file; None for debug information, or another machine's.

    Raises FormatError for a malformed one.
    """
    elf = headers.read(data)
    if headers.is_foreign(elf) or headers.is_debug_only(elf):
        return None
    return space_of(without_headers.completed(elf))


def containers(space: Space) -> tuple[list[Found], list[Left]]:
    """Return the containers in file order, and the device code that is left alone."""
    left: list[Left] = []
    known = _known(space, list(_starts(space, left)), left)
    found = [known[start] for start in sorted(known)]
    left += _untold(space, found)
    inputs = list(_inputs(space, left))
    return sorted([*found, *inputs], key=_offset), [*left, *_of_others(space)]


def _offset(container: Found) -> int:
    return container.data.at


def _inputs(space: Space, left: list[Left]) -> Iterator[Found]:
    """Yield the sections of objects in which clang's linker wrapper finds images."""
    for section in space.elf.sections if space.elf.is_object else ():
        is_input = llvm_offloading.claims(section) and not section.is_allocated
        if is_input and section.has_bytes and section.size:
            try:
                yield at_beginning(space.elf.content(section))
            except FormatError as error:
                left.append(Left(f"section {section.name}", str(error)))


def registered(space: Space) -> list[Found]:
    """Return the container of each wrapper, in the order of wrappers, and inputs of linkers."""
    starts = list(_starts(space, []))
    known = _known(space, starts, [])
    return [*(known[start] for start in starts if start in known), *_inputs(space, [])]


def _known(space: Space, starts: Sequence[_Start], left: list[Left]) -> dict[_Start, Found]:
    """Return the sound containers; faults of others are added to `left`."""
    distinct = sorted(set(starts))
    ends = {one: other.offset for one, other in pairwise(distinct) if one.section == other.section}
    known: dict[_Start, Found] = {}
    for start in distinct:
        end = min(ends.get(start, start.section.offset + start.section.size), len(space.elf.data))
        try:
            data = space.elf.data.slice(start.offset, end - start.offset, "container")
            known[start] = at_beginning(data, is_padded=_is_of_containers(start.section))
        except FormatError as error:
            left.append(Left(f"container at {space.elf.data.at + start.offset:#x}", str(error)))
    return known


def _starts(space: Space, left: list[Left]) -> Iterator[_Start]:
    """Yield the starts of containers; faults of wrappers are added to `left`."""
    sections = sorted((s for s in space.elf.sections if s.has_bytes), key=lambda s: s.offset)
    offsets = [section.offset for section in sections]
    is_newer = False
    for item in fatbin_wrappers.find(space):
        if isinstance(item, (Damage, Unknown)):
            left.append(Left("wrappers", item.message))
            is_newer = isinstance(item, Unknown)  # the next item is that wrapper
            continue
        offset = None if item.binary is None else space.offset(item.binary, 1)
        if not is_newer and offset is not None:
            at = bisect_right(offsets, offset) - 1
            if at >= 0 and offset < sections[at].offset + sections[at].size:
                yield _Start(offset, sections[at])
        is_newer = False


def _is_of_containers(section: Section) -> bool:
    """Return whether zeros between containers are padding: a section may hold other data."""
    return cuda_fatbin.claims(section) or hip_fatbin.claims(section)


def _untold(space: Space, found: Sequence[Found]) -> Iterator[Left]:
    """Yield the parts of container sections that no wrapper refers to."""
    base = space.elf.data.at
    for section in space.elf.sections:
        if not (section.has_bytes and section.size and _is_of_containers(section)):
            continue
        begin, end = base + section.offset, base + section.offset + section.size
        mine = [(one.data.at, one.padded) for one in found if begin <= one.data.at < end]
        at = begin
        for start, size in [*mine, (end, 0)]:
            gap = space.elf.data.slice(at - base, start - at, f"section {section.name}")
            if any(piece.strip(b"\0") for piece in gap.pieces()):
                yield Left(f"{len(gap)} bytes at {at:#x} in section {section.name}", UNTOLD)
            at = start + size


def _of_others(space: Space) -> Iterator[Left]:
    """Yield the device code that slim does not rewrite."""
    is_nvidias = any(cuda_fatbin.claims(section) for section in space.elf.sections)
    for section in space.elf.sections:
        what = f"section {section.name} of {section.size} bytes"
        if not (section.has_bytes and section.size):
            continue
        if is_nvidias and section.name in OWN_LOADERS:
            yield Left(what, UNTOLD)
        elif space.elf.is_object and bundle_section.claims(section):
            yield Left(what, "clang-offload-bundler counts the sections of an object")
    if gcc_offload.claims(space.elf):
        yield Left("GCC's device images", "slim does not rewrite GCC's tables")
