# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sort a lane's events into rows without overlaps.

An event within another one is a row below it. Instants have a row of their own, the last.
"""

from __future__ import annotations

from array import array

from packager.records import NamedTuple
from packager.traces.model import Lane

DEEPEST = 64  # rows of a lane


class Rows(NamedTuple):
    """The numbers of a lane's events, row by row, each in the order of time."""

    spans: list[array[int]]
    instants: array[int]
    left_out: int  # events that are nested deeper


def rows(lane: Lane) -> Rows:
    """Return the rows of a lane."""
    starts, durations = lane.starts, lane.durations
    order = sorted(range(len(lane)), key=durations.__getitem__, reverse=True)
    order.sort(key=starts.__getitem__)  # at equal starts, the longer event is first
    spans: list[array[int]] = []
    instants = array("I")
    ends: list[float] = []  # ends of open spans, outermost first
    left_out = 0
    for number in order:
        duration = durations[number]
        if not duration:
            instants.append(number)
            continue
        start = starts[number]
        while ends and ends[-1] <= start:
            ends.pop()
        depth = len(ends)
        if depth >= DEEPEST:
            left_out += 1
            continue
        if depth == len(spans):
            spans.append(array("I"))
        spans[depth].append(number)
        ends.append(start + duration)
    return Rows(spans, instants, left_out)
