"""What this machine lacks for a test."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacks(what: str) -> NoReturn:
    """End the test: skipped, for a developer's machine; in CI a test that cannot run has failed."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)
