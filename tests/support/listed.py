# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of tests that do not run in some way: a line for each, with the reason."""

from __future__ import annotations

import re
from pathlib import Path

from places import ROOT, TESTS


def reasons(path: Path) -> dict[str, str]:
    """Return the names in a list, each with the reason."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def known() -> set[str]:
    """Return the names of all tests.

    These are the cases of runtime/tests and of plugins in ctest's spelling, and the functions and
    programs of tests/.
    """
    native = ROOT / "runtime" / "tests"
    cases = [path.read_text() for path in native.rglob("*_test.cpp")]
    plugins = (native / "plugins" / "CMakeLists.txt").read_text()
    functions = [path.read_text() for path in TESTS.rglob("test_*.py")]
    return {
        *(f"plugin.{name}" for name in re.findall(r'^  "(\w+) ', plugins, re.MULTILINE)),
        *(f"plugin.{name}" for name in re.findall(r"\bmpi_[\w.]+", plugins)),
        *(path.stem for path in (TESTS / "programs").rglob("*.c*")),
        *(name for text in cases for name in re.findall(r'TEST_CASE\("(.*)"\)', text)),
        *(
            name
            for text in functions
            for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)
        ),
    }
