# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main job as the manual page shows it: its lines run as they stand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from places import FIXTURES, ROOT
from typed import typed

pytestmark = [pytest.mark.slow, pytest.mark.offloads]


def of_the_page() -> str:
    text = (ROOT / "man" / "omptool.1").read_text().partition(".SH EXAMPLES\n")[2]
    lines = re.search(r"\.RS\n(.*?)\.RE", text, re.DOTALL)
    assert lines
    return lines[1].replace(r"\-", "-").replace(r"\e", "\\")


def test_the_main_job(tmp_path: Path) -> None:
    text = of_the_page()
    for name in ("kernels.ll", "host.c", "expected.txt"):
        shutil.copy(FIXTURES / "two_images" / name, tmp_path)
    assert text.count("\n") >= 8
    done = typed(text, tmp_path)
    assert done.stderr == ""
    assert done.stdout.endswith((tmp_path / "expected.txt").read_text())
