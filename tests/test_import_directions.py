# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The imports of omptool and packager run downwards, from room to room, and rooms are small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from places import ROOT

LINT = Path(sys.executable).with_name("lint-imports")
MAX_MODULES = 16


def test_imports_run_downwards() -> None:
    """The contracts in pyproject.toml decide."""
    done = subprocess.run([LINT, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


def test_no_folder_holds_more_than_a_reader_can() -> None:
    """`commands` has a module for each command, and each stands for itself."""
    modules = [path for top in ("omptool", "packager") for path in (ROOT / top).rglob("*.py")]
    folders = [path.parent for path in modules if path.name != "__init__.py"]
    sizes = {folder: folders.count(folder) for folder in set(folders)}
    assert len(sizes) > 10
    crowded = {folder: size for folder, size in sizes.items() if size > MAX_MODULES}
    assert not crowded.keys() - {ROOT / "omptool" / "commands"}
