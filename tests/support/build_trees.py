# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Build folders of build systems: outputs of a build, and outputs of a rebuild."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fixture_programs import OMPTOOL
from places import FIXTURES

# Files of build systems themselves.
OWN = ("CMakeFiles", "build.ninja", ".ninja_log", ".ninja_deps", "CMakeCache.txt", "Makefile")

Build = Callable[[Path], object]


class Rebuilt(NamedTuple):
    """A folder that was built from scratch, again at once, and after one kernel was touched."""

    folder: Path
    programs: Path
    at_once: frozenset[str]
    after_touching: frozenset[str]


def environment() -> dict[str, str]:
    """Return our environment with omptool on PATH, without variables of an enclosing make."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return kept | {"PATH": f"{Path(OMPTOOL).parent}:{os.environ['PATH']}"}


def done(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, and return how it ended."""
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def call(folder: Path, *command: object) -> str:
    """Run a command that must succeed; return its output."""
    ran = done(folder, *command)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def rebuilt(folder: Path, build: Build, touched: str, programs: str = ".") -> Rebuilt:
    """Copy the example of build systems to `folder`, and build it there three times."""
    shutil.copytree(FIXTURES / "builds", folder, dirs_exist_ok=True)
    build(folder)
    at_once = changed_by(folder, build)
    _touch(folder / touched)
    return Rebuilt(folder, folder / programs, at_once, changed_by(folder, build))


def changed_by(folder: Path, build: Build) -> frozenset[str]:
    """Return the names of the files that a build writes again."""
    before = _times(folder)
    build(folder)
    return frozenset(path.name for path, at in _times(folder).items() if before.get(path) != at)


def _times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in _outputs(folder)}


def _outputs(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        own = any(part in OWN for part in path.relative_to(folder).parts)
        if path.is_file() and (not own or path.suffix == ".o"):
            yield path


def _touch(source: Path) -> None:
    """Update a source's time; sleep first because file times may be coarse."""
    time.sleep(0.02)
    source.touch()
