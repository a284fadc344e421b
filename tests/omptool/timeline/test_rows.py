# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of a lane: nested events lie below the outer one, and no event overlaps another."""

from __future__ import annotations

import random

from omptool.timeline.rows import DEEPEST, rows
from packager.traces.model import Lane


def lane_of(*events: tuple[int, int]) -> Lane:
    lane = Lane(1, of_transfers=False)
    for start, duration in events:
        lane.add(start, duration, 0, 0, 0)
    return lane


def test_events_within_others_are_below_them() -> None:
    found = rows(lane_of((1, 2), (4, 5), (5, 1), (0, 10), (10, 3)))
    assert [list(row) for row in found.spans] == [[3, 4], [0, 1], [2]]


def test_the_longer_of_two_that_begin_together_is_above() -> None:
    assert [list(row) for row in rows(lane_of((0, 2), (0, 5))).spans] == [[1], [0]]


def test_instants_have_a_row_of_their_own() -> None:
    found = rows(lane_of((5, 0), (0, 10), (3, 0)))
    assert list(found.instants) == [2, 0]
    assert [list(row) for row in found.spans] == [[1]]


def test_what_is_nested_too_deeply_is_counted() -> None:
    found = rows(lane_of(*((at, 1000 - 2 * at) for at in range(DEEPEST + 3))))
    assert len(found.spans) == DEEPEST
    assert found.left_out == 3


def test_no_two_of_a_row_overlap() -> None:
    dice = random.Random(3)
    lane = lane_of(*((dice.randrange(1000), dice.randrange(50)) for _ in range(2000)))
    found = rows(lane)
    shown = [*found.instants]
    for row in found.spans:
        shown += row
        ends = [lane.starts[at] + lane.durations[at] for at in row]
        assert all(end <= lane.starts[at] for end, at in zip(ends, row[1:], strict=False))
    assert sorted(shown) == list(range(2000)) or found.left_out
