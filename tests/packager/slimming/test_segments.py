# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Program headers around holes that links seldom leave."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from packager.elf.headers import PT_LOAD, Segment
from packager.slimming.elf.holes import Cut, Hole, Holes
from packager.slimming.elf.segments import program_headers

PAGE = 0x1000
DATA = Segment(PT_LOAD, 6, 0x1000, 0x401000, 0x401000, 0x9000, 0xB000, PAGE)
BEHIND = Segment(PT_LOAD, 4, 0xA000, 0x60A000, 0x60A000, 0x800, 0x800, 0x200000)


def rows(*cuts: Cut) -> list[tuple[int, int, int, int, int]]:
    """Return the loaded segments: offset, address, size in the file and in memory, alignment."""
    elf = SimpleNamespace(segments=[DATA, BEHIND])
    file: Any = SimpleNamespace(elf=elf, machine=SimpleNamespace(page=PAGE))
    return [(s.offset, s.address, *s[5:]) for s in program_headers(file, cuts)]


def test_zeros_behind_a_hole_get_a_segment_without_bytes() -> None:
    hole = Hole(0x3000, 0xA000)
    assert rows(Cut(hole, DATA)) == [
        (0x1000, 0x401000, 0x2000, 0x2000, PAGE),
        (0x3000, 0x40A000, 0, 0x2000, PAGE),
        (0x3000, 0x60A000, 0x800, 0x800, PAGE),
    ]


def test_a_segment_begins_behind_a_hole() -> None:
    assert rows(Cut(Hole(0x1000, 0x5000), DATA))[0] == (0x1000, 0x405000, 0x5000, 0x7000, PAGE)


def test_a_segment_ends_where_its_last_section_does() -> None:
    data = rows(Cut(Hole(0x4000, 0xA000), DATA, 0x3210))[0]
    assert data == (0x1000, 0x401000, 0x2210, 0x2210, PAGE)


def test_two_holes_leave_three_segments() -> None:
    cuts = [Cut(Hole(0x2000, 0x4000), DATA), Cut(Hole(0x5000, 0x8000), DATA)]
    assert rows(*cuts)[:3] == [
        (0x1000, 0x401000, 0x1000, 0x1000, PAGE),
        (0x2000, 0x404000, 0x1000, 0x1000, PAGE),
        (0x3000, 0x408000, 0x2000, 0x4000, PAGE),
    ]


def test_an_alignment_that_still_divides_stays() -> None:
    assert rows()[1] == (0xA000, 0x60A000, 0x800, 0x800, 0x200000)


def test_offsets_count_without_holes() -> None:
    holes = Holes([Hole(0x5000, 0x8000), Hole(0x2000, 0x4000)])
    places = {0x1FFF: 0x1FFF, 0x2000: 0x2000, 0x3FFF: 0x2000, 0x4000: 0x2000, 0x9000: 0x4000}
    assert {offset: holes.place(offset) for offset in places} == places
    assert holes.kept(0x3000, 0x6000) == [(0x4000, 0x5000)]
    assert holes.size() == 0x5000
