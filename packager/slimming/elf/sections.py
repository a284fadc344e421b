# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The section headers of a file with holes, in the order of their addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial

from packager.elf.headers import SHT_NULL, SHT_RELA, Section
from packager.records import NamedTuple
from packager.slimming.elf.front import Move
from packager.slimming.elf.holes import Holes
from packager.slimming.elf.packing import Packed
from packager.writers.elf_types import SHF_INFO_LINK, SHT_REL


class Headers(NamedTuple):
    """The new section headers, and the new number of each old one."""

    rows: list[Section]
    numbers: list[int]

    @property
    def is_renumbered(self) -> bool:
        """Return whether any section has another number."""
        return self.numbers != list(range(len(self.numbers)))


def section_headers(
    sections: Sequence[Section],
    packed: Sequence[Packed],
    moves: Sequence[Move],
    holes: Holes,
    is_loaded: Callable[[Section], bool] = bool,
) -> Headers:
    """Return the headers of all sections in the result; loaded ones first, by address.

    Objcopy adds sections that wrongly claim to be loaded: patchelf breaks programs that begin with
    them.
    """
    sizes = {one.section.number: one.end - one.section.offset for one in packed}
    places = {move.section.number: move for move in moves}
    changed = [_changed(s, sizes, places, holes) for s in sections]
    loaded = {section.number for section in sections if is_loaded(section)} if moves else set()
    order = sorted(changed, key=partial(_by_address, loaded)) if moves else changed
    numbers = [0] * len(changed)
    for number, section in enumerate(order):
        numbers[section.number] = number
    return Headers([_linked(section, numbers) for section in order], numbers)


def _changed(
    section: Section, sizes: Mapping[int, int], places: Mapping[int, Move], holes: Holes
) -> Section:
    size = sizes.get(section.number, section.size)
    offset, address = section.offset, section.address
    if move := places.get(section.number):
        offset, address = move.offset, move.address
    return section._replace(offset=holes.place(offset), address=address, size=size)


def _by_address(loaded: Set[int], section: Section) -> tuple[bool, bool, int, int]:
    is_first, is_loaded = section.number == 0, section.number in loaded
    return not is_first, not is_loaded, section.address if is_loaded else 0, section.number


def _linked(section: Section, numbers: Sequence[int]) -> Section:
    """Return a header that names other sections by their new numbers."""
    link, info = section.link, section.info
    names_section = section.type in (SHT_RELA, SHT_REL) or section.flags & SHF_INFO_LINK
    if section.type != SHT_NULL and 0 < link < len(numbers):
        link = numbers[link]
    if names_section and 0 < info < len(numbers):
        info = numbers[info]
    return section._replace(link=link, info=info)
