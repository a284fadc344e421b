# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The turns of tests that run both ways."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import queues


def item(test: str, way: str, *marks: str, **params: str) -> Any:
    """Return what pytest collects for a test function's case, as far as turns look at it."""
    marked = set(marks)
    return SimpleNamespace(
        path=Path("test_file.py"),
        nodeid=f"test_file.py::{test}[{'-'.join((way, *params.values()))}]",
        callspec=SimpleNamespace(params=params | {"way": way}),
        get_closest_marker=lambda name: name if name in marked else None,
        add_marker=lambda mark: marked.add(mark.name),
    )


def test_the_cases_of_sweeps_take_turns() -> None:
    cases = [(source, version) for source in "ab" for version in ("14", "16", "19")]
    swept = [
        item("test_sweep", way, source=source, version=version)
        for way in queues.IDS
        for source, version in cases
    ]
    many = [item("test_many", way, source=source) for source in "abcd" for way in queues.IDS]
    others = [
        *(item("test_other", way, source="a") for way in queues.IDS),
        *(item("test_long", way, "exhaustive", version="20") for way in queues.IDS),
        item("test_at_once", queues.IDS[0], version="14"),
    ]
    queues.take_turns([*others, *swept, *many])
    left = [one.get_closest_marker("exhaustive") is None for one in swept]
    assert left == [True, False] * 3 + [False, True] * 3
    left = [one.get_closest_marker("exhaustive") is None for one in many]
    assert left == [True, False, False, True] * 2
    assert [one.get_closest_marker("exhaustive") for one in others] == [
        None, None, "exhaustive", "exhaustive", None,
    ]  # fmt: skip


def test_turns_are_taken_before_marks_select(request: pytest.FixtureRequest) -> None:
    """Cases left out at that time are not collected in this run."""
    if request.config.getoption("markexpr") == "not exhaustive and not field":
        assert all(one.get_closest_marker("exhaustive") is None for one in request.session.items)
