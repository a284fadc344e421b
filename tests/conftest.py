"""What the tests share that lives as long as the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from outcomes import Programs


@pytest.fixture(scope="session")
def programs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Programs]:
    """The programs of every clang; those that a selected test names are under way already."""
    with Programs(tmp_path_factory.mktemp("programs")) as started:
        for item in request.session.items:
            named = getattr(getattr(item, "callspec", None), "params", {})
            if {"version", "program"} <= named.keys():
                started.start([(named["version"], named["program"])])
        yield started


@pytest.fixture(scope="session")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are that doctor is tested with, by the clang that made them."""
    return tmp_path_factory.mktemp("diagnosed")
