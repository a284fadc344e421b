# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sections of an executable or library that become shorter, and the room that this needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from packager.editing.linked import LinkedFile
from packager.elf.headers import PT_INTERP, PT_LOAD, Section
from packager.errors import PackagerError, UsageError
from packager.records import NamedTuple
from packager.slimming.elf.front import Move, find_front
from packager.slimming.elf.holes import Cut, Holes, find_cut, used_ranges
from packager.slimming.elf.packing import Packed, pack
from packager.slimming.elf.pointers import Patch, find_pointers
from packager.slimming.elf.segments import program_headers
from packager.slimming.pieces import Rewritten

DT_FLAGS_1, DF_1_PIE = 0x6FFFFFFB, 0x08000000


class Cutting(NamedTuple):
    """The packed sections, the cut behind each, and the sections that make room in front."""

    packed: tuple[Packed, ...] = ()
    cuts: tuple[Cut, ...] = ()
    moves: tuple[Move, ...] = ()
    patches: tuple[Patch, ...] = ()  # changed pointers, at offsets before the cut and the moves

    @property
    def holes(self) -> Holes:
        """Return the holes of the result."""
        return Holes([cut.hole for cut in self.cuts])


class Attempt(NamedTuple):
    """The cut of a file, and the reasons for sections without one, by number."""

    cutting: Cutting
    faults: dict[int, str]


def find_referenced(
    packed: Iterable[Packed], references: Callable[[], Mapping[int, int]]
) -> dict[int, str]:
    """Return the faults of sections with moved containers that code refers to, by number.

    `references` searches code for containers, and returns the first place for each.
    """
    faults: dict[int, str] = {}
    for one in packed:
        moved = {old for old, new in one.addresses.items() if old != new}
        places = (place for start, place in references().items() if start in moved) if moved else ()
        for place in islice(places, 1):
            faults[one.section.number] = f"code at {place:#x} refers to a container"
    return faults


def find_cutting(
    file: LinkedFile, groups: Mapping[Section, Sequence[Rewritten]], known: Mapping[int, str]
) -> Attempt:
    """Cut as many sections as the loader allows, except those with `known` faults.

    The caller searches code for references to the cut sections, which takes long.
    """
    faults: dict[int, str] = {}
    whole = _fault(file)
    packed: list[Packed] = []
    for section, containers in groups.items():
        try:
            if fault := whole or known.get(section.number):
                raise UsageError(fault)
            if not file.is_loaded(section):
                raise UsageError("no segment loads it whole")
            packed.append(pack(section, containers, file.data))
        except PackagerError as error:
            faults[section.number] = str(error)
    patches: dict[int, tuple[Patch, ...]] = {}
    for one, pointers in zip(packed, find_pointers(file, packed), strict=True):
        if pointers.fault:
            faults[one.section.number] = pointers.fault
        else:
            patches[one.section.number] = pointers.patches
    sound = [one for one in packed if one.section.number in patches]
    cutting = _Cutter(file, faults).cut(sound)
    found = [patch for one in cutting.packed for patch in patches[one.section.number]]
    return Attempt(cutting._replace(patches=tuple(found)), faults)


def _fault(file: LinkedFile) -> str | None:
    """Return why nothing can be cut out of a file, or None."""
    if _is_static(file):
        return "it is a static program, whose memory has no gaps"
    page = file.machine.page
    loads = [s for s in file.elf.segments if s.type == PT_LOAD]
    if any((load.address - load.offset) % page for load in loads):
        return f"its segments are not aligned to pages of {page} bytes"
    return None


def _is_static(file: LinkedFile) -> bool:
    if file.dynamic is None:
        return True
    has_loader = any(s.type == PT_INTERP for s in file.elf.segments)
    is_program = file.elf.is_executable or (file.dynamic.value(DT_FLAGS_1) or 0) & DF_1_PIE
    return bool(is_program) and not has_loader


class _Cutter:
    """Finds the cuts of packed sections, and notes the faults of others."""

    def __init__(self, file: LinkedFile, faults: dict[int, str]) -> None:
        self._file = file
        self._faults = faults

    def cut(self, packed: Sequence[Packed]) -> Cutting:
        """Cut all of these sections, or those that need no program headers."""
        found = self._cuts(packed, ())
        try:
            return self._with_room(found)
        except UsageError as error:
            short = [one for one, cut in found.items() if cut.stop is not None]
            for one in found:
                if one not in short:
                    self._faults[one.section.number] = str(error)
            cuts = self._cuts(short, ())
            return Cutting(tuple(cuts), tuple(cuts.values()))

    def _with_room(self, found: Mapping[Packed, Cut]) -> Cutting:
        """Add the room for program headers. Raises UsageError if there is none."""
        file = self._file
        rows = program_headers(file, list(found.values()))
        if len(rows) <= len(file.elf.segments):
            return Cutting(tuple(found), tuple(found.values()))
        front = find_front(file, len(rows))
        split = [one for one, cut in found.items() if cut.stop is None]
        host = max(split, key=lambda one: found[one].hole.size)
        end = host.section.offset + host.section.size
        moves = front.moves(end, host.section.address - host.section.offset)
        begin = front.begin(end)
        if begin < host.end:
            raise UsageError("too few bytes are free for the tables that make room in front")
        taken = [(begin, end)] if front.moved else []
        cuts = self._cuts(list(found), taken)
        if len(program_headers(file, list(cuts.values()))) > len(rows):
            raise UsageError("has no room for another program header")
        return Cutting(tuple(cuts), tuple(cuts.values()), tuple(moves))

    def _cuts(
        self, packed: Sequence[Packed], taken: Sequence[tuple[int, int]]
    ) -> dict[Packed, Cut]:
        """Return the cut behind each section; `taken` are free ranges that tables occupy.

        A section without a cut keeps its length, which limits other cuts.
        """
        while True:
            found = self._each(packed, taken)
            if len(found) == len(packed):
                return found
            packed = list(found)

    def _each(
        self, packed: Sequence[Packed], taken: Sequence[tuple[int, int]]
    ) -> dict[Packed, Cut]:
        ends = {(s.offset, s.offset + s.size): one.end for one in packed for s in [one.section]}
        spans = ((span[0], ends.get(span, span[1])) for span in used_ranges(self._file))
        used = sorted([*(span for span in spans if span[0] < span[1]), *taken])
        found: dict[Packed, Cut] = {}
        for one in packed:
            end = one.section.offset + one.section.size
            stop = next((begin for begin, behind in taken if behind == end), end)
            try:
                found[one] = find_cut(self._file, one.end, stop, used)
            except UsageError as error:
                self._faults[one.section.number] = str(error)
        return found
