# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find what grew between two runs of a program: launches, copies, bytes and fallbacks.

A construct whose line has moved since the earlier run is the same one: regions are paired by
function and order, other constructs by file and order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import add
from typing import Literal

from packager.naming.kernel_names import decode
from packager.naming.region_names import in_words
from packager.questions.moved import Spot, aligned, moved
from packager.questions.statistics import Called, Statistics
from packager.records import NamedTuple

FACTS = ("times", "copies", "bytes", "fallbacks")  # the first one of a region is "launches"
_PLACE = re.compile(r"(.*):([0-9]{1,9}):[0-9]{1,9}", re.DOTALL)  # file, line, column
_Values = tuple[int, ...]  # values of FACTS
_NONE: _Values = (0,) * len(FACTS)


class Fact(NamedTuple):
    """One of FACTS, or "launches", in the earlier run and in the later one."""

    what: str
    old: int
    new: int

    def grew(self, tolerance: float) -> bool:
        """Return whether the fact grew by more percent than `tolerance`."""
        return self.new > self.old * (1 + tolerance / 100)


class Difference(NamedTuple):
    """A construct with other facts than before, or that one of the runs alone has."""

    change: Literal["added", "removed", "changed"]
    what: str  # the directive or routine
    name: str  # name of the region, else the place in the source
    was: str  # the name in the earlier run, where the line has moved
    facts: tuple[Fact, ...]  # facts that differ

    def grew(self, tolerance: float) -> bool:
        """Return whether one of its facts grew by more percent than `tolerance`."""
        return any(fact.grew(tolerance) for fact in self.facts)


class _Key(NamedTuple):
    """A construct without its source file's numbers, which differ between builds."""

    what: str
    is_region: bool
    name: str  # "work:5", "work.c:5"


def differences(old: Statistics, new: Statistics) -> list[Difference]:
    """Return the constructs that differ: the later run's in order, then removed ones."""
    before, after = _sums(old), _sums(new)
    later = _later(old, new)
    earlier = {now: one for one, now in later.items()}
    found = [
        _difference(key, earlier.get(key), before.get(earlier.get(key, key)), values)
        for key, values in after.items()
    ]
    gone = [
        Difference("removed", key.what, in_words(key.name), "", _facts(key, values, _NONE))
        for key, values in before.items()
        if key not in later
    ]
    return [one for one in (*found, *gone) if one.facts]


def totals(old: Statistics, new: Statistics) -> tuple[Fact, ...]:
    """Return the launches of regions, and the copies, bytes and fallbacks of the whole runs."""
    return tuple(map(Fact, _facts_of(is_region=True), _total(old), _total(new)))


def name_of(called: Called) -> str:
    """Return a construct's name that is the same in each build: its region or its source line."""
    if called.entry:
        return str(decode(called.entry) or called.entry)
    place = _PLACE.fullmatch(called.source)
    return f"{place[1]}:{place[2]}" if place else called.source or "(no source line)"


def _difference(key: _Key, was: _Key | None, old: _Values | None, new: _Values) -> Difference:
    name = in_words(key.name)
    before = in_words(was.name) if was else name
    change: Literal["added", "changed"] = "added" if old is None else "changed"
    moved_from = before if before != name else ""
    return Difference(change, key.what, name, moved_from, _facts(key, old or _NONE, new))


def _facts(key: _Key, old: _Values, new: _Values) -> tuple[Fact, ...]:
    found = map(Fact, _facts_of(is_region=key.is_region), old, new)
    return tuple(fact for fact in found if fact.old != fact.new)


def _facts_of(*, is_region: bool) -> tuple[str, ...]:
    return ("launches", *FACTS[1:]) if is_region else FACTS


def _sums(run: Statistics) -> dict[_Key, _Values]:
    found: dict[_Key, _Values] = {}
    for called, one in run.constructs.items():
        key = _Key(called.what, bool(called.entry), name_of(called))
        values = (one.times.count, one.copies, one.bytes, one.fallbacks)
        found[key] = tuple(map(add, found.get(key, _NONE), values))
    return found


def _total(run: Statistics) -> _Values:
    sums = _sums(run)
    launches = sum(values[0] for key, values in sums.items() if key.is_region)
    _, *others = map(sum, zip(_NONE, *sums.values(), strict=True))
    return launches, *others


def _later(old: Statistics, new: Statistics) -> dict[_Key, _Key]:
    """Return the later construct for each earlier one, without removed ones."""
    before, after = _sums(old), _sums(new)
    lines = moved(_entries(old), _entries(new))
    regions = (one for one in before if one.is_region and one.name in lines)
    pairs = {one: one._replace(name=lines[one.name]) for one in regions}
    pairs |= _moved_places(before, after)
    # Without a pair, a construct keeps its name, unless another pair has it.
    free = after.keys() - pairs.values()
    found = {one: pairs.get(one) or one for one in before if one in pairs or one in free}
    return {one: now for one, now in found.items() if now in after}


def _entries(run: Statistics) -> dict[str, object]:
    return dict.fromkeys(called.entry for called in run.constructs if called.entry)


def _moved_places(old: Iterable[_Key], new: Iterable[_Key]) -> dict[_Key, _Key]:
    """Return the pairs of constructs that are no regions."""
    before, after = _by_file(old), _by_file(new)
    found: dict[_Key, _Key] = {}
    for file in before.keys() & after.keys():
        ours, theirs = sorted(before[file]), sorted(after[file])
        pairs = aligned([Spot(line) for line, _ in ours], [Spot(line) for line, _ in theirs])
        found.update((ours[one][1], theirs[other][1]) for one, other in pairs)
    return found


def _by_file(keys: Iterable[_Key]) -> dict[tuple[str, str], list[tuple[int, _Key]]]:
    """Return the lines of each directive in each file."""
    found: dict[tuple[str, str], list[tuple[int, _Key]]] = {}
    for key in keys:
        file, _, line = key.name.rpartition(":")
        if not key.is_region and line.isdecimal():
            found.setdefault((key.what, file), []).append((int(line), key))
    return found
