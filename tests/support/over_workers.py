# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The way over the devices of two workers, by each MPI, for tests that offload.

Tests of the rooms ROOMS use it, except the tests and programs of LIST. `make test` runs a sample
with Debian's MPIs. `make test-all` runs with every MPI the tests that `make test` runs at once, and
repeats with one of them the tests that look for rare faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mpis
import pytest
from builds import Build
from clangs import INSTALLED
from listed import reasons
from places import TESTS

ROOMS = ("applications", "book", "openmp")
LIST = TESTS / "not_over_workers.txt"
# Programs that differ in what they exercise: classes, globals, ends of programs, mapping, tasks,
# updates.
SAMPLE = {"classes", "declare_target", "lifetimes", "mapping", "stencil", "tasks", "updates"}


def ways(test: str, path: Path) -> list[Any]:
    """Return the runs over workers of the test function of this name, in this file."""
    in_room = any(path.is_relative_to(TESTS / "programs" / room) for room in ROOMS)
    if not in_room or test in reasons(LIST):
        return []
    return [
        pytest.param(environment(mpi), id=f"workers-{mpi.name}", marks=pytest.mark.workers)
        for mpi in mpis.ALL
    ]


def environment(mpi: mpis.Mpi) -> Mapping[str, str]:
    """Return the environment in which `running.run` starts an MPI job with workers' devices."""
    return {"OMPTOOL_PLUGINS": "mpi", mpis.VARIABLE: mpi.name}


def kept(items: list[pytest.Item]) -> list[pytest.Item]:
    """Remove tests that exceed `make test`, and mark those that it does not run."""
    return [item for item in items if not item.get_closest_marker("workers") or _is_kept(item)]


def _is_kept(item: pytest.Item) -> bool:
    parameters: Mapping[str, Any] = getattr(item, "callspec").params  # noqa: B009
    if _programs(parameters) & reasons(LIST).keys():
        return False
    if item.get_closest_marker("repeated"):
        if not item.get_closest_marker("sampled"):
            item.add_marker("exhaustive")
        return _mpi(parameters) is mpis.DEBIAN[0]
    if item.get_closest_marker("exhaustive"):
        return False
    if not _is_sampled(parameters):
        item.add_marker("exhaustive")
    return True


def _programs(parameters: Mapping[str, Any]) -> set[str]:
    return {value.stem for value in parameters.values() if isinstance(value, Path)}


def _is_sampled(parameters: Mapping[str, Any]) -> bool:
    versions = {value.version for value in parameters.values() if isinstance(value, Build)}
    is_chosen = versions == {INSTALLED} and bool(_programs(parameters) & SAMPLE)
    return _mpi(parameters) in mpis.DEBIAN and is_chosen


def _mpi(parameters: Mapping[str, Any]) -> mpis.Mpi:
    return mpis.named(parameters["way"][mpis.VARIABLE])
