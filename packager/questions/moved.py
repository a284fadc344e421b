# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pair the regions of two builds whose lines have moved, by their function and their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packager.kernel_names import KernelName, decode

# Of a function's regions in both builds, multiplied: more are paired by their order alone.
MAX_PAIRS = 1 << 10
TOO_FAR = 1 << 60


def moved(old: Iterable[str], new: Iterable[str]) -> dict[str, str]:
    """Return the new name of each of clang's kernels that has moved, by its old name.

    Both are without the source file's numbers, which other builds have otherwise: "work:5".
    """
    before, after = _by_function(old), _by_function(new)
    found: dict[str, str] = {}
    for function in before.keys() & after.keys():
        ours, theirs = before[function], after[function]
        for one, other in _pairs([name.line for name in ours], [name.line for name in theirs]):
            found[str(ours[one])] = str(theirs[other])
    return {name: now for name, now in found.items() if name != now}


def _by_function(names: Iterable[str]) -> dict[tuple[str, bool], list[KernelName]]:
    """Return the kernels of each function in the order of the source."""
    found: dict[tuple[str, bool], dict[str, KernelName]] = {}
    for name in names:
        if decoded := decode(name):
            is_number = not decoded.suffix or decoded.suffix.isdigit()
            found.setdefault((decoded.function, is_number), {})[str(decoded)] = decoded
    return {key: sorted(all_of.values(), key=_place) for key, all_of in found.items()}


def _place(name: KernelName) -> tuple[int, int]:
    return name.line, int(name.suffix) if name.suffix.isdigit() else 0


def _pairs(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return which lines belong together: those that an edit above them has moved alike."""
    if len(old) == len(new) or len(old) * len(new) > MAX_PAIRS:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    if len(old) > len(new):
        return [(one, other) for other, one in _pairs(new, old)]
    shifts = {other - one for one in old for other in new}
    tried = [_shifted(old, new, shift) for shift in sorted(shifts, key=abs)]
    return min(tried, key=lambda found: found[0])[1] if tried else []


def _shifted(
    old: Sequence[int], new: Sequence[int], shift: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return the pairs, in order, of least distance from this shift, and the distance."""
    costs = [[0] * (len(new) + 1)]
    for line in old:
        above, row = costs[-1], [TOO_FAR]
        for j, other in enumerate(new):
            row.append(min(row[j], above[j] + abs(other - line - shift)))
        costs.append(row)
    pairs, j = [], len(new)
    for i in range(len(old), 0, -1):
        while costs[i][j] == costs[i][j - 1]:
            j -= 1
        pairs.append((i - 1, j - 1))
        j -= 1
    return costs[-1][-1], pairs[::-1]
