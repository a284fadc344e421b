# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for files that give the same answer in every release of Python.

Before 3.14, Path.exists and Path.is_file raise OSError for a name that no file can have, and for a
folder that must not be looked into.
"""

from __future__ import annotations

import stat
from pathlib import Path


def exists(path: Path) -> bool:
    """Return whether something is there that this process can see."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """Return whether a regular file is there that this process can see."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: a null byte
        return None
