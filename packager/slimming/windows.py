# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The containers that a linked file of Windows registers with CUDA's and HIP's runtimes."""

from __future__ import annotations

from itertools import pairwise

from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.host_records import fatbin_wrappers
from packager.hosts.windows import coff_headers
from packager.slimming.containers.found import Found, Left, at_beginning


def containers(data: Reader) -> tuple[list[Found], list[Left]]:
    """Return the containers in file order, and the parts left alone. Raises FormatError."""
    coff = coff_headers.read(data)
    if coff_headers.is_signed(data):
        return [], [Left("the file", "it is signed, and a changed file is not what was signed")]
    if coff.type == "object":
        return [], [Left("the file", "slim does not rewrite objects of Windows")]
    found: list[Found] = []
    left: list[Left] = []
    for container in _told(data, coff):
        if isinstance(container, Left):
            left.append(container)
        else:
            found.append(container)
    return sorted({one.data.at: one for one in found}.values(), key=_offset), left


def registered(data: Reader) -> list[Found]:
    """Return the container of each wrapper, in the order of wrappers."""
    found = _told(data, coff_headers.read(data))
    return [one for one in found if not isinstance(one, Left)]


def _offset(container: Found) -> int:
    return container.data.at


def _told(data: Reader, coff: coff_headers.Coff) -> list[Found | Left]:
    starts = list(fatbin_wrappers.of_coff(coff.sections, data))
    distinct = sorted(set(starts))
    ends = dict(pairwise(distinct))
    found = {start: _at(data, coff, start, ends.get(start)) for start in distinct}
    return [found[start] for start in starts]


def _at(data: Reader, coff: coff_headers.Coff, start: int, end: int | None) -> Found | Left:
    """Return the container at an address, which another one follows at `end`."""
    section = _holding(coff.sections, start)
    if section is None:
        return Left(f"container at address {start:#x}", "it is not in the file")
    inside, size = start - section.address, section.size
    if end is not None:
        size = min(size, end - section.address)
    try:
        whole = data.slice(section.offset + inside, size - inside, "container")
        return at_beginning(whole)
    except FormatError as error:
        return Left(f"container at {data.at + section.offset + inside:#x}", str(error))


def _holding(sections: list[Section], address: int) -> Section | None:
    return next((s for s in sections if s.address <= address < s.address + s.size), None)
