# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SYCL's tables without the rows of removed images: a count and an end pointer change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from packager.elf.address_space import Space
from packager.elf.relocated import Range
from packager.errors import PackagerError
from packager.files.reader import Reader
from packager.hosts.tgtimg import PAIR
from packager.layouts import SYCL_BINARIES
from packager.records import NamedTuple
from packager.slimming.containers.found import Left
from packager.slimming.containers.outcome import Outcome
from packager.slimming.elf.zeros import is_zero
from packager.slimming.pieces import Rewritten
from packager.slimming.request import TABLES, Request
from packager.slimming.selection import Choice
from packager.slimming.tables.found import LISTED, Row, Table
from packager.slimming.tables.words import Words

COUNT_AT, COUNT_SIZE = 2, 2  # offset and size in a descriptor
MOST_PADDING = 1 << 12
BETWEEN = "it stands between images that stay, and rows of a table are end to end"


class Rewriting(NamedTuple):
    """The tables of a file, as outcomes; each has its patches and the removed bytes."""

    outcomes: tuple[Outcome, ...]
    left: tuple[Left, ...]


def rewrite(space: Space, tables: Sequence[Table], request: Request) -> Rewriting:
    """Return the new tables: alternatives of an image may be in another table."""
    choice, rows = staying(tables, request)
    outcomes: list[Outcome] = []
    left: list[Left] = []
    for table, stays in zip(tables, rows, strict=True):
        try:
            outcomes.append(_shortened(space, table, stays, left))
        except PackagerError as error:
            left.append(Left(f"SYCL's table at {table.address:#x}", str(error)))
            outcomes.append(_outcome(table, range(len(table.rows)), ()))
    if outcomes:
        first = outcomes[0].choice._replace(lacking=choice.lacking)
        outcomes[0] = outcomes[0]._replace(choice=first)
    return Rewriting(tuple(outcomes), tuple(left))


def staying(tables: Sequence[Table], request: Request) -> tuple[Choice, list[list[bool]]]:
    """Return the choice among all images, and for each table whether each row stays."""
    images = [image for table in tables for row in table.rows for image in row.images]
    choice = request.choice(TABLES, images, is_best=False)
    numbers = iter(range(len(images)))
    rows = [
        [any(n in choice.stay for n in [*islice(numbers, len(row.images))]) for row in table.rows]
        for table in tables
    ]
    return choice, rows


def _shortened(space: Space, table: Table, stays: Sequence[bool], left: list[Left]) -> Outcome:
    kept = [n for n, does_stay in enumerate(stays) if does_stay]
    run = range(kept[0], kept[-1] + 1) if kept else range(0)
    left += (
        Left(f"device image at {table.rows[n].data.at:#x}", BETWEEN) for n in run if not stays[n]
    )
    gone = [row for n, row in enumerate(table.rows) if n not in run]
    if not gone:
        return _outcome(table, run, ())
    words = Words(space.elf.data, space.elf)
    patches = [words.number(table.address + COUNT_AT, COUNT_SIZE, len(run))]
    if run.start:
        first = table.records + run.start * table.record_size
        patches += words.pointer(table.address + SYCL_BINARIES.records, first)
    starts = {row.start for row in gone}
    patches += (words.number(at, PAIR.size // 2, 0) for at in _sizes(space, starts))
    kept_rows = [table.rows[n] for n in run]
    alone = [row for row in gone if not any(_overlap(row, other) for other in kept_rows)]
    return _outcome(table, run, (*patches, *_removed(space, alone)))


def _overlap(one: Row, other: Row) -> bool:
    start, end = one.data.at, one.data.at + len(one.data)
    return start < other.data.at + len(other.data) and other.data.at < end


def _outcome(table: Table, stay: Collection[int], rewrites: Sequence[Rewritten]) -> Outcome:
    images = [(n, image) for n, row in enumerate(table.rows) for image in row.images]
    kept = frozenset(at for at, (n, _) in enumerate(images) if n in stay)
    return Outcome(tuple(rewrites), tuple(image for _, image in images), Choice(kept, ()))


def _sizes(space: Space, starts: Collection[int]) -> Iterator[int]:
    """Yield the addresses of these images' sizes in a list for clang's tools."""
    for section in space.elf.named(LISTED):
        begin = space.address(section)
        (window,) = space.windows([Range(begin, section.size, f"section {section.name}")])
        for at in range(0, section.size - PAIR.size + 1, PAIR.size):
            if window.pointer(at) in starts:
                yield begin + at + PAIR.size // 2


def _removed(space: Space, gone: Sequence[Row]) -> list[Rewritten]:
    """Return the bytes of removed images, each with the zeros up to the next removed one."""
    data = space.elf.data
    found: list[Rewritten] = []
    for row in sorted(gone, key=lambda row: row.data.at):
        start, end = row.data.at, row.data.at + len(row.data)
        last = found[-1] if found else None
        if last and last.offset + last.size >= start:
            end = max(end, last.offset + last.size)
            found[-1] = last._replace(size=end - last.offset)
        elif last and _is_padding(data, last.offset + last.size - data.at, start - data.at):
            found[-1] = last._replace(size=end - last.offset)
        else:
            found.append(Rewritten(start, end - start, 1, ()))
    return found


def _is_padding(data: Reader, start: int, end: int) -> bool:
    return end - start <= MOST_PADDING and is_zero(data, start, end)
