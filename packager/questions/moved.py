# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pair the regions of two builds whose lines have moved, by their function and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from packager.naming.kernel_names import KernelName, decode
from packager.records import NamedTuple

# Most pairs of regions compared for one function; with more, only the order counts.
MAX_PAIRS = 1 << 10
TOO_FAR = 1 << 60
UNLIKE = 1000  # lines by which kernels of other needs count as apart


class Spot(NamedTuple):
    """A place in a source that an edit may move, with its distinguishing facts."""

    line: int
    needs: object = None


class _Region(NamedTuple):
    name: KernelName
    needs: object

    @property
    def place(self) -> tuple[int, int]:
        return self.name.line, int(self.name.suffix) if self.name.suffix.isdigit() else 0

    @property
    def spot(self) -> Spot:
        return Spot(self.name.line, self.needs)


def moved(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, str]:
    """Return the new name of each of clang's kernels that has moved, by its old name.

    The kernels come with their resources, which tell them from others. Names in the result omit the
    source file's numbers, which differ between builds: "work:5".
    """
    before, after = _by_function(old), _by_function(new)
    found: dict[str, str] = {}
    for function in before.keys() & after.keys():
        ours, theirs = before[function], after[function]
        for one, other in aligned([r.spot for r in ours], [r.spot for r in theirs]):
            found[str(ours[one].name)] = str(theirs[other].name)
    return {name: now for name, now in found.items() if name != now}


def _by_function(kernels: Mapping[str, object]) -> dict[tuple[str, bool], list[_Region]]:
    """Return the kernels of each function in the order of the source."""
    found: dict[tuple[str, bool], dict[str, _Region]] = {}
    for name, needs in kernels.items():
        if decoded := decode(name):
            is_number = not decoded.suffix or decoded.suffix.isdigit()
            regions = found.setdefault((decoded.function, is_number), {})
            regions[str(decoded)] = _Region(decoded, needs)
    return {key: sorted(all_of.values(), key=attrgetter("place")) for key, all_of in found.items()}


def aligned(old: Sequence[Spot], new: Sequence[Spot]) -> list[tuple[int, int]]:
    """Return the pairs of equal spots that an edit moved by the same number of lines.

    Both are in source order; the result has indices of each pair.
    """
    if len(old) == len(new) or len(old) * len(new) > MAX_PAIRS:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    if len(old) > len(new):
        return [(one, other) for other, one in aligned(new, old)]
    shifts = {other.line - one.line for one in old for other in new}
    tried = [_shifted(old, new, shift) for shift in sorted(shifts, key=abs)]
    return min(tried, key=lambda found: found[0])[1] if tried else []


def _shifted(
    old: Sequence[Spot], new: Sequence[Spot], shift: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return the pairs, in order, of least cost, and the cost, where lines move by this shift."""
    costs = [[0] * (len(new) + 1)]
    for one in old:
        above, row = costs[-1], [TOO_FAR]
        for j, other in enumerate(new):
            distance = abs(other.line - one.line - shift)
            cost = distance + (UNLIKE if one.needs != other.needs else 0)
            row.append(min(row[j], above[j] + cost))
        costs.append(row)
    pairs, j = [], len(new)
    for i in range(len(old), 0, -1):
        while costs[i][j] == costs[i][j - 1]:
            j -= 1
        pairs.append((i - 1, j - 1))
        j -= 1
    return costs[-1][-1], pairs[::-1]
