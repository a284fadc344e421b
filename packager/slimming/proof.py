# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prove on a result that each kept device loads the same code as before, from both files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from packager.elf import headers
from packager.errors import FindingError, PackagerError
from packager.files.reader import Reader, open_reader
from packager.hosts.windows import coff_headers
from packager.processes.forked import forked
from packager.records import NamedTuple
from packager.slimming import linked, windows
from packager.slimming.containers import found
from packager.slimming.containers.found import Found
from packager.slimming.containers.outcome import Held
from packager.slimming.keeps import Kept
from packager.slimming.plan import HEADERS, found_tables
from packager.slimming.request import Request
from packager.slimming.selection import chosen, loadable
from packager.slimming.tables.found import Table
from packager.slimming.tables.rewriting import staying
from packager.wording import counted

NOTHING = Request((), removed={})
MOST_AHEAD = 1 << 12  # most images in memory until the result is written
MANY = 1 << 8  # containers, of which a child process compares one half


class _Loads(NamedTuple):
    """The images of a container that each kept device loads, and those kept in any case."""

    chosen: list[list[Held]]
    fixed: list[Held]


def prove(before: Path, after: Path, keeps: Sequence[Kept]) -> None:
    """Raise FindingError if a kept device would not load the same images from both files.

    Images with the same bytes have the same kernels, so bytes are compared, container by container.
    """
    with open_reader(before, HEADERS) as data:
        Proof(data, keeps).prove(after)


class Proof:
    """The code that kept devices load from an open file, to be compared with a result."""

    def __init__(self, before: Reader, keeps: Sequence[Kept]) -> None:
        self._before = before
        self._keeps = keeps
        self._containers: list[Found] | None = None
        self._loads: dict[int, _Loads] = {}

    def read_ahead(self) -> None:
        """Read the original file once, while the result is still being written."""
        if self._loads:
            return
        with suppress(PackagerError):  # `prove` raises it if a container has changed
            held = 0
            for number, one in enumerate(self._ours()):
                self._loads[number] = found = _loads(one, self._keeps)
                held += sum(map(len, (*found.chosen, found.fixed)))
                if held > MOST_AHEAD:
                    return

    def prove(self, after: Path) -> None:
        """Raise FindingError if a kept device would not load the same images from a result."""
        with open_reader(after, HEADERS) as data:
            self._compare_all(list(_pairs(self._ours(), _containers(data))))
            listed = [found_tables(one) for one in (self._before, data)]
            for kept in self._keeps:
                mine = [_rows(found, Request((kept,))) for found in listed]
                if not _are_same_rows(*mine):
                    message = f"{kept.name} would load other images of SYCL's tables than before"
                    raise FindingError(message)

    def _ours(self) -> list[Found]:
        if self._containers is None:
            self._containers = _containers(self._before)
        return self._containers

    def _compare_all(self, pairs: Sequence[tuple[Found, Found]]) -> None:
        """Compare the containers of both files; of many, a child process compares one half."""
        numbers = range(len(pairs))
        if len(pairs) < MANY:
            self._compare_some(pairs, numbers)
            return
        with forked(partial(self._compare_some, pairs, numbers[1::2])) as others:
            self._compare_some(pairs, numbers[::2])
            others()

    def _compare_some(self, pairs: Sequence[tuple[Found, Found]], numbers: Iterable[int]) -> None:
        for number in numbers:
            self._compare(number, *pairs[number])

    def _compare(self, number: int, before: Found, after: Found) -> None:
        if _is_same(before.content, after.content):
            return
        ours = self._loads.pop(number, None) or _loads(before, self._keeps)
        theirs = _loads(after, self._keeps)
        where = f"container {number} at {before.data.at:#x}"
        for kept, *mine in zip(self._keeps, ours.chosen, theirs.chosen, strict=True):
            if not _are_same(*mine):
                raise FindingError(f"{kept.name} would load other code of {where} than before")
        if not _are_same(ours.fixed, theirs.fixed):
            raise FindingError(f"an image of {where} is lost, which is not for slim to remove")


def prove_removed(before: Path, after: Path, request: Request) -> None:
    """Check that a result has the images that a request keeps, in the same order.

    The request names removed images by their places in the file before. Raises FindingError.
    """
    with open_reader(before, HEADERS) as one, open_reader(after, HEADERS) as other:
        for ours, theirs in _pairs(_containers(one), _containers(other)):
            if request.keeps_whole(ours.data.at) and _is_same(ours.content, theirs.content):
                continue
            images = ours.kind.images(ours.data)
            stay = request.choice(ours.data.at, [held.image for held in images]).stay
            if not _are_same([images[n] for n in sorted(stay)], theirs.kind.images(theirs.data)):
                where = f"container at {ours.data.at:#x}"
                raise FindingError(f"the result has other images of the {where} than it should")
        listed = _rows(found_tables(one), request), _rows(found_tables(other), NOTHING)
        if not _are_same_rows(*listed):
            raise FindingError("the result has other images of SYCL's tables than it should")


def _pairs(ours: list[Found], theirs: list[Found]) -> Iterator[tuple[Found, Found]]:
    """Yield each container with that in the result."""
    if len(ours) != len(theirs):
        raise FindingError(
            f"the result has {counted(len(theirs), 'container')} of device code, and the file "
            f"has {len(ours)}"
        )
    yield from zip(ours, theirs, strict=True)


def _rows(found: Sequence[Table], request: Request) -> list[tuple[int, Reader]]:
    """Return the kept images of tables, each with the table's address."""
    _, staying_rows = staying(found, request)
    return [
        (table.address, row.data)
        for table, stays in zip(found, staying_rows, strict=True)
        for row, does_stay in zip(table.rows, stays, strict=True)
        if does_stay
    ]


def _are_same_rows(
    ours: Sequence[tuple[int, Reader]], theirs: Sequence[tuple[int, Reader]]
) -> bool:
    addresses = [[address for address, _ in rows] for rows in (ours, theirs)]
    return addresses[0] == addresses[1] and all(
        _is_same(one, other) for (_, one), (_, other) in zip(ours, theirs, strict=True)
    )


def _containers(data: Reader) -> list[Found]:
    """Return the containers in the order in which they are registered."""
    if coff_headers.probe(data):
        return windows.registered(data)
    if not headers.probe(data):
        return found.in_file(data)[0]
    memory = linked.memory(data)
    return linked.registered(memory) if memory else []


def _loads(container: Found, keeps: Sequence[Kept]) -> _Loads:
    images = container.kind.images(container.data)
    is_best = container.kind.is_best
    chosen_images = [_loaded(images, kept, is_best=is_best) for kept in keeps]
    return _Loads(chosen_images, [one for one in images if one.image.why_kept])


def _loaded(images: Sequence[Held], kept: Kept, *, is_best: bool) -> list[Held]:
    """Return the images that the runtime of a kept device loads or chooses from."""
    rows = [one.image for one in images]
    mine = chosen(rows, kept, lambda n: images[n].own_arch()) if is_best else loadable(rows, kept)
    return [images[n] for n in sorted(mine)]


def _are_same(ours: Sequence[Held], theirs: Sequence[Held]) -> bool:
    """Return whether images are equal in number, description and bytes."""
    return [one.image for one in ours] == [one.image for one in theirs] and all(
        _is_same(one.data, other.data) for one, other in zip(ours, theirs, strict=True)
    )


def _is_same(one: Reader, other: Reader) -> bool:
    if len(one) != len(other):
        return False
    return all(a == b for a, b in zip(one.pieces(), other.pieces(), strict=True))
