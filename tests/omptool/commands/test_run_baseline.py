# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool run --check --baseline` prints, and fails for, findings outside of the baseline only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from places import TESTS
from running import omptool_run

RECORDS = TESTS / "omptool" / "commands" / "sources" / "records_findings.py"
ERROR = {"code": 301, "message": "x maps 800 bytes", "variable": "x", "source": "app.c:12:1"}
OTHER = {"code": 301, "message": "z maps 800 bytes", "variable": "z", "source": "app.c:12:1"}
HINT = {"code": 312, "message": "y is not mapped", "source": "app.c:20:3"}


def found(
    *records: dict[str, Any], options: tuple[object, ...]
) -> subprocess.CompletedProcess[str]:
    """Run a program that records these findings as the runtime's checker does."""
    program = [sys.executable, RECORDS, json.dumps(records)]
    return omptool_run(*options, *program)


def test_known_findings_fail_nothing(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    fatal = ("--check", "--check-error", "--baseline", known)
    done = found(ERROR, HINT, options=("--check", "--check-error", "--write-baseline", known))
    assert done.returncode == 0
    assert done.stderr.endswith(
        f"the checker found 1 error and 1 hint\n{known}: wrote 2 findings\n"
    )
    done = found(ERROR, HINT, options=fatal)
    assert done.returncode == 0
    assert "OMP3" not in done.stderr
    assert done.stderr.endswith(f"{known}: 2 known findings left out\n")
    done = found(ERROR, OTHER, options=fatal)
    assert done.returncode == 124
    assert "app.c:12:1: OMP301 error: z maps 800 bytes" in done.stderr
    assert f"{known}: 1 known finding left out\n" in done.stderr
    assert f"{known}: no longer found: app.c: OMP312: y is not mapped\n" in done.stderr


def test_a_baseline_that_is_none(tmp_path: Path) -> None:
    """The program does not start."""
    broken = tmp_path / "broken.json"
    broken.write_text("[]")
    for path, why in (
        (broken, "is no baseline: "),
        (tmp_path / "missing", "No such file or directory"),
    ):
        done = found(ERROR, options=("--check", "--baseline", path))
        assert done.returncode == 125
        assert done.stderr.startswith(f"Error: {path}: {why}")
        assert "OMP301" not in done.stderr


def test_options_that_need_the_checker(tmp_path: Path) -> None:
    both = ("--check", "--baseline", tmp_path / "a", "--write-baseline", tmp_path / "a")
    done = found(ERROR, options=both)
    assert (done.returncode, done.stderr.count("exclude each other")) == (125, 1)
    done = found(ERROR, options=("--write-baseline", tmp_path / "known.json"))
    assert (done.returncode, done.stderr) == (
        125,
        "Error: --write-baseline: give --check as well\n",
    )
