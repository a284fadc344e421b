# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on PATH: compilers, linkers and other tools that commands start."""

from __future__ import annotations

import os
from pathlib import Path


def search_folders() -> list[str]:
    """Return the absolute folders of PATH.

    An empty or relative element refers to the current folder, whose files no command runs.
    """
    return [folder for folder in os.get_exec_path() if Path(folder).is_absolute()]


def which(name: str) -> str | None:
    """Return the path of a program on PATH; None if there is none, or `name` is a path."""
    if Path(name).name != name:
        return None
    from shutil import which as find  # slow to load

    found = find(name, path=os.pathsep.join(search_folders()))
    return found if found and Path(found).is_absolute() else None  # Windows looks here first


def tool_environment(**more: str) -> dict[str, str]:
    """Return the environment of a tool: it looks for programs in the same folders."""
    path = os.pathsep.join(search_folders()) or os.defpath  # an empty PATH is the current folder
    return {**os.environ, "PATH": path, **more}
