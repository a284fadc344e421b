# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program headers of a file with holes: addresses stay, and segments are split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.editing.linked import LinkedFile
from packager.elf.headers import PROGRAM_HEADER, PT_LOAD, Segment
from packager.slimming.elf.front import Move
from packager.slimming.elf.holes import Cut, Holes

PT_PHDR = 6
MASK = (1 << 64) - 1


def program_headers(
    file: LinkedFile, cuts: Sequence[Cut], moves: Sequence[Move] = ()
) -> list[Segment]:
    """Return the program headers without the removed ranges."""
    holes = Holes([cut.hole for cut in cuts])
    stops = {cut.load: cut.stop for cut in cuts if cut.stop is not None}
    places = {move.section.address: move for move in moves}
    rows: list[Segment] = []
    for segment in file.elf.segments:
        if segment.type == PT_LOAD:
            rows += _split(_shorter(segment, stops.get(segment)), holes, file.machine.page)
        else:
            rows.append(_moved(segment, places, holes))
    size = len(rows) * PROGRAM_HEADER.size
    return [
        row._replace(file_size=size, memory_size=size) if row.type == PT_PHDR else row
        for row in rows
    ]


def _shorter(segment: Segment, stop: int | None) -> Segment:
    if stop is None:
        return segment
    size = stop - segment.offset
    return segment._replace(file_size=size, memory_size=size)


def _moved(segment: Segment, places: dict[int, Move], holes: Holes) -> Segment:
    move = places.get(segment.address) if segment.file_size else None
    if move is not None and segment.type != PT_PHDR:
        distance = move.address - segment.address
        segment = segment._replace(
            offset=move.offset,
            address=move.address,
            physical=(segment.physical + distance) & MASK,
        )
    return segment._replace(offset=holes.place(segment.offset))


def _split(segment: Segment, holes: Holes, page: int) -> Iterator[Segment]:
    """Yield the parts of a loaded segment between holes."""
    parts = holes.kept(segment.offset, segment.end)
    is_cut = parts != [(segment.offset, segment.end)] and segment.file_size
    more = segment.memory_size - segment.file_size
    if is_cut and more and (not parts or parts[-1][1] != segment.end):
        parts.append((segment.end, segment.end))  # zeros behind a hole, which the file lacks
    for start, end in parts if is_cut else [(segment.offset, segment.end)]:
        inside = start - segment.offset
        size = end - start
        part = segment._replace(
            offset=holes.place(start),
            address=segment.address + inside,
            physical=(segment.physical + inside) & MASK,
            file_size=size,
            memory_size=size + more if end == segment.end else size,
        )
        if part.alignment > page and _is_aligned(segment) and not _is_aligned(part):
            part = part._replace(alignment=page)
        yield part


def _is_aligned(segment: Segment) -> bool:
    return (segment.address - segment.offset) % segment.alignment == 0
