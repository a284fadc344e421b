"""The two ways to the CPU device: at once, on the caller's thread, and over its queue.

A test that starts programs on the runtime is marked `offloads` and runs both ways. Any other test
has no device: one that needs it fails, and gets the mark.
"""

from __future__ import annotations

from typing import Any

import pytest
from places import TESTS

VARIABLE = "OMPTOOL_HOST_QUEUES"
AT_ONCE = {VARIABLE: "0"}
QUEUED = {VARIABLE: "1"}
NO_DEVICE = {"OMPTOOL_PLUGINS": "only-of-tests-that-offload"}

WAYS = [
    pytest.param(AT_ONCE, id="at-once"),
    pytest.param(QUEUED, id="queued", marks=pytest.mark.queued),
]
LIST = TESTS / "not_over_queues.txt"


def left_out() -> dict[str, str]:
    """The tests that run at once only, each with the reason."""
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def ways(test: str) -> list[Any]:
    """How the test function of this name runs."""
    return WAYS[:1] if test in left_out() else WAYS
