# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports of omptool and packager point from room to room downwards, by lint-imports' contracts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from places import ROOT

LINT = Path(sys.executable).with_name("lint-imports")


def test_imports_run_downwards() -> None:
    done = subprocess.run(
        [LINT, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout
