# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of docs/ make a site, and the commands of its tasks print the shown output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import flang
import pytest
from fixture_programs import OMPTOOL, call
from places import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.offloads]

TASKS = ("ci", "cmake-project", "fortran", "kernels", "silent-region")
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_pages_are_a_site(tmp_path: Path) -> None:
    """A link to nowhere, or a page that the menu lacks, is an error (mkdocs.yml)."""
    call(
        sys.executable, "-m", "mkdocs", "build", "-f", ROOT / "mkdocs.yml", "-d", tmp_path / "site"
    )
    assert (tmp_path / "site" / "silent-region.html").stat().st_size > 0
    assert "workers" in (tmp_path / "site" / "search" / "search_index.json").read_text()
    first = (tmp_path / "site" / "index.html").read_text()
    assert first.count('data-md-color-media="(prefers-color-scheme: ') == 2
    assert re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*https?:', first) == []


@pytest.mark.parametrize("task", TASKS)
def test_a_task(task: str, tmp_path: Path) -> None:
    if task == "fortran":
        flang.command()  # or the test ends here
    page = (ROOT / "docs" / f"{task}.md").read_text()
    path = f"{Path(OMPTOOL).parent}:{os.environ['PATH']}"
    blocks = BLOCK.findall(page)
    assert sum(kind == "sh" for kind, _ in blocks) > 2
    # One shell runs all, because later commands use variables of earlier ones.
    marked = "\n".join(f"{text}echo '==='\n" for kind, text in blocks if kind == "sh")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", marked],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    printed = iter(done.stdout.split("===\n"))
    for kind, text in blocks:
        if kind == "sh":
            last = next(printed)
        else:
            assert text in last
