# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The two ways to the CPU device: at once, on the caller's thread, and over its queue.

A test that starts programs on the runtime is marked `offloads` and runs both ways; in `make test`
those of the rooms ROOMS alone, as the others start programs to see what became of a file. There a
sweep takes turns: each of its cases runs one way, the next the other way. So do all tests of the
rooms TAKING_TURNS. Any other test has no device: one that needs it fails, and gets the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from listed import reasons
from places import TESTS

VARIABLE = "OMPTOOL_HOST_QUEUES"
AT_ONCE = {VARIABLE: "0"}
QUEUED = {VARIABLE: "1"}
IDS = ("at-once", "queued")
NO_DEVICE = {"OMPTOOL_PLUGINS": "only-of-tests-that-offload"}

# Rooms of tests about the runtime, whose results may depend on the way to the device.
ROOMS = (
    *("applications", "book", "checking", "faults", "fortran", "messages", "observing", "openmp"),
    "runtime",
)
# Rooms of tests about what a run prints: each test takes its turn there as a sweep's case does.
TAKING_TURNS = ("observing",)
LIST = TESTS / "not_over_queues.txt"
# Parameters of sweeps over compilers; tests with many cases are sweeps, too.
SWEPT = {"build", "version"}
MANY = 4


def ways(test: str, path: Path) -> list[Any]:
    """Return how the test function of this name, in this file, runs."""
    at_once = pytest.param(AT_ONCE, id=IDS[0])
    if test in reasons(LIST):
        return [at_once]
    marks = [pytest.mark.queued]
    if not any(path.is_relative_to(TESTS / "programs" / room) for room in ROOMS):
        marks.append(pytest.mark.exhaustive)
    return [at_once, pytest.param(QUEUED, id=IDS[1], marks=marks)]


def take_turns(items: Iterable[pytest.Item]) -> None:
    """Keep one way of each case of a sweep for `make test`, and the other for `make test-all`.

    A file counts its cases across sweeps: with an odd number of compilers, each has either way with
    some program.
    """
    counts: dict[Path, int] = {}
    for cases in _cases_both_ways(items).values():
        for both in cases:
            is_swept = len(cases) >= MANY or SWEPT & _parameters(both[0]).keys()
            if not is_swept and both[0].path.parent.name not in TAKING_TURNS:
                continue
            at = counts.get(both[0].path, 0)
            counts[both[0].path] = at + 1
            both[(at + 1) % 2].add_marker(pytest.mark.exhaustive)


def _cases_both_ways(items: Iterable[pytest.Item]) -> dict[str, list[Sequence[pytest.Item]]]:
    """Return the cases that run both ways in `make test`, by test function."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "way" in _parameters(item) and item.get_closest_marker("exhaustive") is None:
            cases.setdefault(item.nodeid.replace(*IDS), []).append(item)
    functions: dict[str, list[Sequence[pytest.Item]]] = {}
    for name, both in cases.items():
        if len(both) == len(IDS):
            functions.setdefault(name.partition("[")[0], []).append(both)
    return functions


def _parameters(item: pytest.Item) -> dict[str, object]:
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}
