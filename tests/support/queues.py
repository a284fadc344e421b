# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The two ways to the CPU device: at once, on the caller's thread, and over its queue.

A test that starts programs on the runtime is marked `offloads` and runs both ways; in `make test`
those of the rooms ROOMS alone, as the others start programs to see what became of a file. Any other
test has no device: one that needs it fails, and gets the mark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import TESTS

VARIABLE = "OMPTOOL_HOST_QUEUES"
AT_ONCE = {VARIABLE: "0"}
QUEUED = {VARIABLE: "1"}
NO_DEVICE = {"OMPTOOL_PLUGINS": "only-of-tests-that-offload"}

# Tests in these rooms are about the runtime, and the way to the device may change how they end.
ROOMS = ("applications", "book", "checking", "faults", "messages", "observing", "openmp", "runtime")
LIST = TESTS / "not_over_queues.txt"


def left_out() -> dict[str, str]:
    """The tests that run at once only, each with the reason."""
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def ways(test: str, path: Path) -> list[Any]:
    """Return how the test function of this name, in this file, runs."""
    at_once = pytest.param(AT_ONCE, id="at-once")
    if test in left_out():
        return [at_once]
    marks = [pytest.mark.queued]
    if not any(path.is_relative_to(TESTS / "programs" / room) for room in ROOMS):
        marks.append(pytest.mark.exhaustive)
    return [at_once, pytest.param(QUEUED, id="queued", marks=marks)]
