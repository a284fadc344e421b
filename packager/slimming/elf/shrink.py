# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write files with smaller containers: bytes are cut out, or become zeros with a reason."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from packager.editing.linked import LinkedFile
from packager.editing.losses import MODE, losses
from packager.elf import headers
from packager.elf.headers import Elf, Section
from packager.errors import PackagerError
from packager.files.reader import Reader, open_reader
from packager.files.replacing import replacing
from packager.processes.forked import forked
from packager.records import NamedTuple
from packager.slimming.elf.code import references
from packager.slimming.elf.cutting import find_cutting, find_referenced
from packager.slimming.elf.holes import Hole, Holes
from packager.slimming.elf.layout import InPlace, Layout
from packager.slimming.elf.linked import linked_layout
from packager.slimming.elf.objects import object_layout
from packager.slimming.elf.output import LARGE, write
from packager.slimming.elf.packing import Packed, expect_sound, holes_between, is_same, size_of
from packager.slimming.pieces import Rewritten
from packager.writers.streams import Copied, ignore


class Zeroed(NamedTuple):
    """A section whose removed bytes become zeros, with the reason."""

    section: str
    reason: str

    @property
    def note(self) -> str:
        """Return the sentence for users."""
        section = f"section {self.section}" if self.section else "the file"
        return f"zeros take the place of what goes from {section}: {self.reason}"


class Shrunk(NamedTuple):
    """The result of a cut."""

    before: int  # bytes of the file
    after: int
    holes: tuple[Hole, ...] = ()
    zeroed: tuple[Zeroed, ...] = ()
    moved: int = 0  # containers that have other addresses
    is_changed: bool = True  # False: nothing was to be removed, and nothing is written
    notes: tuple[str, ...] = ()  # notes for users


Faults = dict[int, str]  # reasons why sections are not cut, by section number


class Planned(NamedTuple):
    """A result, and its layout if anything changes."""

    shrunk: Shrunk
    layout: Layout | None
    packed: tuple[Packed, ...] = ()  # a reference of code to a moved container changes the plan


class _ReferencedError(Exception):
    """Code refers to containers that would move."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self.faults = faults


class _Opened(NamedTuple):
    path: Path
    data: Reader
    elf: Elf | None


def shrink(
    source: Path,
    containers: Iterable[Rewritten],
    out: Path | None,
    *,
    zero: bool = False,
    check: Callable[[Path], None] | None = None,
    copied: Copied = ignore,
    meanwhile: Callable[[], None] | None = None,
) -> Shrunk:
    """Write to `out`, which may be `source`, the file with these containers rewritten.

    Without `out` nothing is written. `check` receives the path of the result before it replaces
    `out`, and may raise; `meanwhile` is called while bytes are copied, again if code turns out to
    refer to a container. With `zero` no byte is cut out. Raises FormatError if the file or a
    container is malformed.
    """
    with open_reader(source) as data:
        rows = expect_sound(containers, data)
        known: Faults = {}
        with _searched(source, data, rows, zero=zero) as referred:
            while True:
                found = _planned(source, data, rows, known, zero=zero)
                expect_none = partial(_expect_no_references, found, referred)
                try:
                    if found.layout is None or out is None:
                        expect_none()
                        return found.shrunk
                    with replacing(out, source.stat().st_mode & MODE) as temporary:
                        with temporary.open("r+b") as stream:
                            steps = (meanwhile or _nothing, expect_none)
                            write(stream, data, found.layout, copied, steps)
                        if check is not None:
                            check(temporary)
                    return found.shrunk
                except _ReferencedError as error:
                    known |= error.faults


def _nothing() -> None:
    """Do nothing."""


def _expect_no_references(found: Planned, referred: Callable[[], dict[int, int]]) -> None:
    """Raise _ReferencedError if code refers to containers that move."""
    if faults := find_referenced(found.packed, referred):
        raise _ReferencedError(faults)


@contextmanager
def _searched(
    path: Path, data: Reader, rows: Sequence[Rewritten], *, zero: bool
) -> Iterator[Callable[[], dict[int, int]]]:
    """Yield a function that searches code for references to containers.

    A child process searches a large file from the start of the block on.
    """
    search = partial(_references, path, data, rows)
    is_large = len(data) >= LARGE and headers.probe(data)
    if is_large and not zero and any(map(_gain, rows)):
        with forked(search) as result:
            yield cache(result)
    else:
        yield cache(search)


def _references(path: Path, data: Reader, rows: Sequence[Rewritten]) -> dict[int, int]:
    """Return the containers that code of a linked file refers to, as `references` does."""
    file = LinkedFile(_Opened(path, data, headers.read(data)))
    groups, _ = _grouped(file.elf, rows, {}, zero=False)
    starts = [
        section.address - section.offset + one.offset
        for section, found in groups.items()
        for one in found
    ]
    return references(file, starts)


def _planned(
    path: Path, data: Reader, rows: Sequence[Rewritten], known: Faults, *, zero: bool
) -> Planned:
    """Lay out the result for `data`, the file at `path`.

    Sections with `known` faults stay unchanged.
    """
    size = len(data)
    is_same_content = all(is_same(one, data) for one in rows)
    untouched = Planned(Shrunk(size, size, is_changed=False), None)
    if is_same_content and (zero or not any(map(_gain, rows))):
        return untouched
    elf = headers.read(data) if headers.probe(data) else None
    between = holes_between(rows, size) if elf is None and not zero else None
    if between is not None:
        layout = Layout(InPlace(rows), between, ())
        return Planned(Shrunk(size, size - between.size(), tuple(between.rows)), layout)
    faults: dict[int, str] = {}
    groups, others = _grouped(elf, rows, faults, zero=zero)
    layout, moved, notes, packed = _layout(_Opened(path, data, elf), groups, others, faults, known)
    gone = layout.holes.size()
    if is_same_content and not gone:
        return untouched
    names = {s.number: s.name for s in elf.sections} if elf else {}
    zeroed = tuple(Zeroed(names.get(n, ""), why) for n, why in sorted(faults.items()))
    holes = tuple(layout.holes.rows)
    return Planned(Shrunk(size, size - gone, holes, zeroed, moved, notes=notes), layout, packed)


def _gain(container: Rewritten) -> int:
    return container.size - size_of(container)


Groups = dict[Section, list[Rewritten]]
NO_SECTION = -1


def _grouped(
    elf: Elf | None, containers: Sequence[Rewritten], faults: dict[int, str], *, zero: bool
) -> tuple[Groups, list[Rewritten]]:
    """Return the containers of sections that could become shorter, and all others."""
    sections = elf.sections if elf else []
    held = sorted((s.offset, s.number) for s in sections if s.has_bytes and s.size)
    groups: Groups = {}
    others: list[Rewritten] = []
    for one in containers:
        number = bisect_right(held, (one.offset, len(sections))) - 1
        section = sections[held[number][1]] if number >= 0 else None
        if section is None or one.offset + one.size > section.offset + section.size:
            others.append(one)
            if _gain(one) and not zero:
                faults[NO_SECTION] = f"the container at {one.offset:#x} is in no section of ELF"
        else:
            groups.setdefault(section, []).append(one)
    for section in [s for s, found in groups.items() if zero or not any(map(_gain, found))]:
        others += groups.pop(section)
    return groups, others


class _Result(NamedTuple):
    layout: Layout
    moved: int = 0
    notes: tuple[str, ...] = ()
    packed: tuple[Packed, ...] = ()


def _layout(
    file: _Opened,
    groups: Groups,
    others: list[Rewritten],
    faults: dict[int, str],
    known: Faults,
) -> _Result:
    everything = sorted([*others, *(one for found in groups.values() for one in found)])
    if file.elf is not None and file.elf.is_object:
        return _Result(object_layout(file.elf, groups, others, faults))
    try:
        if file.elf is None:
            return _Result(Layout(InPlace(everything), Holes(()), ()))
        linked = LinkedFile(file)
    except PackagerError as error:
        faults |= {section.number: str(error) for section in groups}
        return _Result(Layout(InPlace(everything), Holes(()), ()))
    cutting, found = find_cutting(linked, groups, known)
    faults |= found
    packed = {one.section for one in cutting.packed}
    others += [one for section, rows in groups.items() if section not in packed for one in rows]
    moved = sum(old != new for one in cutting.packed for old, new in one.addresses.items())
    layout = linked_layout(linked, cutting, others, everything)
    notes = tuple(losses(linked, file.path.stat().st_mode))
    return _Result(layout, moved, notes, cutting.packed)
