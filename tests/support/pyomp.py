# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyOMP, OpenMP in Python, as scripts/pyomp.sh installs it."""

from __future__ import annotations

from pathlib import Path

from machine import lacks
from places import ROOT

ENVIRONMENT = ROOT / "build" / "pyomp"


def python() -> Path:
    """Return the Python that has PyOMP; the test is skipped without it, or fails in CI."""
    if not (ENVIRONMENT / ".complete").exists():
        lacks("PyOMP is not here: scripts/pyomp.sh installs it, and says why if it cannot")
    return ENVIRONMENT / "bin" / "python"
